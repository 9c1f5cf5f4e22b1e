import { inspect, types } from 'node:util'
import { byteLength, storableText } from './text.ts'

/** What a run threw, as it is kept: text only, at most 32 kB as JSON, whatever was thrown. */
export interface RecordedError {
  /** Of the error's class; `NonError` when something else was thrown. */
  readonly name: string
  readonly message: string
  /** The error's own `code`, such as `ECONNREFUSED` or an SQLSTATE. */
  readonly code: string | null
  /** With up to five causes ("Caused by: …") and the first five of several errors. */
  readonly stack: string | null
  /** Whether anything was cut; the text then says where. */
  readonly truncated: boolean
}

/**
 * Records anything that can be thrown. The record of a failure is made while failing, so nothing in
 * it may fail: getters and proxies that throw, circular causes, megabytes of stack, text that
 * PostgreSQL cannot hold. Every property is read once, behind a guard, and cut before it is copied.
 */
export function recordError(error: unknown): RecordedError {
  try {
    return recordOf(error)
  } catch {
    return UNREADABLE
  }
}

const UNREADABLE: RecordedError = {
  name: 'NonError',
  message: 'what was thrown could not be read',
  code: null,
  stack: null,
  truncated: true,
}

function recordOf(error: unknown): RecordedError {
  const seen = look(error)
  const name = fitted(seen.name, NAME_BYTES)
  const message = fitted(seen.message, MESSAGE_BYTES)
  const code = seen.code === null ? null : fitted(seen.code, NAME_BYTES)
  const stack = stackOf(error, seen)
  return {
    name: name.text,
    message: message.text,
    code: code?.text ?? null,
    stack: stack?.text ?? null,
    truncated: [name, message, code, stack].some((part) => part?.truncated === true),
  }
}

// Together below 32 000 bytes, also with the names of the members.
const NAME_BYTES = 400
const MESSAGE_BYTES = 8_000
const STACK_BYTES = 22_000
// Of the stack: so that one giant does not push out its causes.
const SECTION_BYTES = 6_000
const CAUSES = 5
const LISTED = 5
const HEADING_UNITS = 500

/** What could be read of a thrown value. */
interface Seen {
  readonly name: string
  readonly message: string
  readonly code: string | null
  readonly stack: string | null
  readonly cause: unknown
  /** Of an AggregateError: how many, and the first few. */
  readonly errors: { readonly count: number; readonly first: readonly unknown[] } | null
}

interface Part {
  readonly text: string
  readonly truncated: boolean
}

function look(thrown: unknown): Seen {
  if (typeof thrown === 'string') return { ...NOTHING, message: thrown }
  if (typeof thrown !== 'object' || thrown === null) return { ...NOTHING, message: shown(thrown) }
  const message = read(thrown, 'message')
  const stack = textOr(read(thrown, 'stack'), null)
  // By shape too, not only by class: what libraries throw often is an error in all but name.
  const isError = typeof message === 'string' || stack !== null || types.isNativeError(thrown)
  if (!isError) return { ...NOTHING, message: shown(thrown) }
  return {
    name: textOr(read(thrown, 'name'), 'Error'),
    message: textOr(message, '(no readable message)'),
    code: textOr(read(thrown, 'code'), null),
    stack,
    cause: read(thrown, 'cause'),
    errors: firstOf(read(thrown, 'errors')),
  }
}

const NOTHING: Seen = {
  name: 'NonError',
  message: '',
  code: null,
  stack: null,
  cause: undefined,
  errors: null,
}

/** One property, whatever reading it does; undefined when it cannot be read. */
function read(object: object, property: string): unknown {
  try {
    return Reflect.get(object, property)
  } catch {
    return undefined
  }
}

function firstOf(errors: unknown): Seen['errors'] {
  try {
    if (!Array.isArray(errors)) return null
    return { count: errors.length, first: errors.slice(0, LISTED) }
  } catch {
    return null
  }
}

function textOr<Fallback>(value: unknown, fallback: Fallback): string | Fallback {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : fallback
}

/** A value that is no error, in a few lines; getters are not called. */
function shown(value: unknown): string {
  try {
    const members = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
    if (members > MOST_MEMBERS && !Array.isArray(value)) return `an object of ${members} members`
    return inspect(value, SHOWN)
  } catch {
    return `an unreadable ${typeof value}`
  }
}

const MOST_MEMBERS = 1_000
const SHOWN = { depth: 1, customInspect: false, maxArrayLength: 20, maxStringLength: 1_000 }

function stackOf(error: unknown, seen: Seen): Part | null {
  const sections = [...membersOf(seen), ...causesOf(error, seen)]
  if (seen.stack === null && sections.length === 0) return null
  const parts = [sectionOf(seen), ...sections]
  const whole = fitted(parts.map((part) => part.text).join('\n'), STACK_BYTES)
  return { text: whole.text, truncated: whole.truncated || parts.some((part) => part.truncated) }
}

/** The stack, headed by name and message; without a stack, the heading alone. */
function sectionOf(seen: Seen): Part {
  const { message, stack } = seen
  const heading = `${seen.name}: ${message}`
  if (stack === null) return fitted(heading, SECTION_BYTES)
  // A long message stands in the stack once more and would leave no room for the frames.
  const isLong = message.length > HEADING_UNITS && stack.startsWith(heading)
  const frames = isLong ? stack.slice(heading.length) : ''
  const text = isLong ? `${heading.slice(0, HEADING_UNITS)}…${frames}` : stack
  return fitted(text, SECTION_BYTES)
}

function membersOf(seen: Seen): readonly Part[] {
  const { errors } = seen
  if (errors === null) return []
  return errors.first.map((member, index) => {
    const { name, message } = look(member)
    return fitted(`[${index + 1} of ${errors.count}] ${name}: ${message}`, SECTION_BYTES / LISTED)
  })
}

function causesOf(error: unknown, seen: Seen): readonly Part[] {
  const parts: Part[] = []
  const visited = new Set([error])
  for (let cause = seen.cause; cause !== undefined && cause !== null;) {
    if (visited.has(cause)) return [...parts, whole('Caused by: an error named above (circular)')]
    if (parts.length === CAUSES) return [...parts, cut('Caused by: … [more causes]')]
    visited.add(cause)
    const next = look(cause)
    const section = sectionOf(next)
    parts.push({ ...section, text: `Caused by: ${section.text}` })
    cause = next.cause
  }
  return parts
}

function whole(text: string): Part {
  return { text, truncated: false }
}

function cut(text: string): Part {
  return { text, truncated: true }
}

/** The beginning of `text` that takes at most `bytes` as JSON, where a control character takes six. */
function fitted(text: string, bytes: number): Part {
  let part = storableText(text, bytes)
  for (let size = jsonBytes(part.text), room = bytes; size > bytes; size = jsonBytes(part.text)) {
    room = Math.floor((room * bytes) / size) - 1
    part = { ...storableText(text, room), truncated: true }
  }
  return part
}

function jsonBytes(text: string): number {
  return byteLength(JSON.stringify(text)) - 2
}
