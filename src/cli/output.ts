import Table from 'cli-table3'
import colors from 'picocolors'
import { MillraceError } from '../errors.ts'

/**
 * What the commands print. For people: tables of aligned columns without lines, so that they read
 * as well in a file or behind `grep` as on a terminal, and colour only on a terminal that wants it.
 * With `--json`: what was asked for on standard output and nothing else, one document or one line
 * for each record. Errors and remarks go to standard error.
 */
export interface Output {
  readonly isJson: boolean
  /** One document for programs, the text for people. */
  document(value: unknown, text: () => string): void
  /** One of many: a line for programs. */
  record(value: unknown): void
  text(text: string): void
  /** In place of what the last one showed, on a terminal; else after it. */
  screen(text: string): void
  /** For people only, beside the answer. */
  remark(text: string): void
}

export function outputFor(isJson: boolean): Output {
  return {
    isJson,
    document: (value, text) => write(isJson ? jsonText(value, 2) : text()),
    record: (value) => write(jsonText(value)),
    text: write,
    screen(text) {
      if (process.stdout.isTTY) process.stdout.write(CLEAR)
      write(text)
    },
    remark(text) {
      if (!isJson) process.stderr.write(`${text}\n`)
    },
  }
}

/** `CODE: message` for people, `{"error":{"code","message"}}` for programs; a fault of ours with its stack. */
export function printError(error: unknown, isJson: boolean): void {
  const isKnown = error instanceof MillraceError
  const code = isKnown ? error.code : 'FAILED'
  const message = error instanceof Error ? error.message : String(error)
  if (isJson) return printJsonError(code, message)
  const detail = isKnown || !(error instanceof Error) ? message : (error.stack ?? message)
  process.stderr.write(`${red(code)}: ${printable(detail)}\n`)
}

export function printJsonError(code: string, message: string): void {
  process.stderr.write(`${jsonText({ error: { code, message } })}\n`)
}

/** Aligned columns under a bold head; nothing but the head when there are no rows. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const made = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  made.push(head.map(bold), ...rows.map((row) => row.map(cellText)))
  return trimLines(made.toString())
}

/** Names and values under each other, those without a value left out. */
export function facts(pairs: readonly (readonly [name: string, value: Cell])[]): string {
  const made = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  const known = pairs.filter(([, value]) => value !== null && value !== undefined)
  made.push(...known.map(([name, value]) => [bold(name), cellText(value)]))
  return trimLines(made.toString())
}

export type Cell = string | number | boolean | Date | null | undefined

export function bold(text: string): string {
  return hasColour(process.stdout) ? colors.bold(text) : text
}

// The cursor to the corner, and everything behind it away.
const CLEAR = '\u001B[H\u001B[J'

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}

// JSON escapes some control characters only; the others stand in strings, where an escape means the same.
function jsonText(value: unknown, indent?: number): string {
  return printable(JSON.stringify(value, null, indent))
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}

function cellText(value: Cell): string {
  if (value === null || value === undefined) return '-'
  if (value instanceof Date) return value.toISOString()
  return printable(String(value)).replaceAll('\n', ' ')
}

// What others wrote (a kind, a note, a message) must not move the cursor of who reads it.
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
  })
}

// Control characters but tab and line feed, and those that turn the direction of writing.
const UNPRINTABLE = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu

function trimLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

function red(text: string): string {
  return hasColour(process.stderr) ? colors.red(text) : text
}

// picocolors colours in CI too, where the output is a file; NO_COLOR and TERM=dumb it knows.
function hasColour(stream: NodeJS.WriteStream): boolean {
  return colors.isColorSupported && (stream.isTTY || process.env['FORCE_COLOR'] !== undefined)
}
