import { closest, distance } from 'fastest-levenshtein'
import { InvalidNameError, InvalidOptionError } from '../errors.ts'
import { ourWord } from './peer-words.ts'
import { byteLength } from './text.ts'

const LONGEST_NAME = 200
const LONGEST_KEY = 1_000
const LONGEST_OPTION = 100

/** Names that Millrace keeps for itself begin so. */
const RESERVED = 'millrace.'

/**
 * Checks a name that users give: of a queue, a kind, a stream. Any text is one, spaces too, if it is
 * not blank, at most 200 bytes, and comes back from the database as the same text.
 * Throws `InvalidNameError`.
 */
export function checkName(what: string, value: unknown): string {
  const name = checkText(what, value, LONGEST_NAME)
  if (name.trim() === '') {
    throw new InvalidNameError(what, name, 'it is blank. Give it a name that people can read.')
  }
  if (name.startsWith(RESERVED)) {
    throw new InvalidNameError(
      what,
      name,
      `names that begin with "${RESERVED}" belong to Millrace. Take another name.`,
    )
  }
  return name
}

/** Checks a key, which is data and not a name: any text of 1 to 1 000 bytes. Throws `InvalidNameError`. */
export function checkKey(what: string, value: unknown): string {
  const key = checkText(what, value, LONGEST_KEY)
  if (key === '') {
    throw new InvalidNameError(what, key, 'it is empty. Leave the key out (undefined) for none.')
  }
  return key
}

/**
 * Checks that `given` is an object that holds known options only, and gives it back to be read. An
 * option that would be ignored is an error that names the one that was meant.
 */
export function checkOptions(where: string, given: unknown, known: readonly string[]): OptionsRead {
  if (!isObject(given)) {
    throw new InvalidOptionError(where, given, `it takes an object of: ${known.join(', ')}.`)
  }
  for (const option of Object.keys(given)) {
    if (known.includes(option)) continue
    const cure = cureFor(option, known)
    throw new InvalidOptionError(cut(option), given[option], `${where} has no such option. ${cure}`)
  }
  return given
}

/** Options of which only the names were checked. */
export type OptionsRead = Readonly<Record<string, unknown>>

function checkText(what: string, value: unknown, limit: number): string {
  if (typeof value !== 'string') {
    throw new InvalidNameError(what, typeNameOf(value), 'it is not text. Pass a string.')
  }
  if (value.includes('\u0000')) {
    throw new InvalidNameError(
      what,
      value,
      'it holds U+0000, which PostgreSQL refuses. Take it out.',
    )
  }
  // Two of them would become the same text on the wire.
  if (!value.isWellFormed()) {
    throw new InvalidNameError(what, value, 'it holds half of a surrogate pair. Take it out.')
  }
  const bytes = byteLength(value)
  if (bytes > limit) {
    throw new InvalidNameError(
      what,
      value,
      `it is ${bytes} bytes in UTF-8, at most ${limit} fit. Shorten it.`,
    )
  }
  return value
}

function typeNameOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}

function isObject(value: unknown): value is OptionsRead {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function cut(option: string): string {
  return option.length > LONGEST_OPTION ? `${option.slice(0, LONGEST_OPTION)}...` : option
}

function cureFor(option: string, known: readonly string[]): string {
  const word = ourWord(option, known)
  if (word !== undefined) return `Use ${word}.`
  // What is compared costs its length times theirs, and may come from a request.
  if (option.length > LONGEST_OPTION) return `It has: ${known.join(', ')}.`
  const nearest = closest(option, known)
  // Further off than a slip of the fingers, a guess misleads.
  if (distance(option, nearest) <= Math.max(2, option.length / 4)) {
    return `Did you mean ${nearest}?`
  }
  return `It has: ${known.join(', ')}.`
}
