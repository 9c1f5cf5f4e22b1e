import { duration } from '../index.ts'
import type { Priority, TrimOptions } from '../index.ts'
import { InvalidOptionError } from '../errors.ts'

/** An instant from the command line. A date alone is its first instant in UTC. */
export function instantOption(option: string, text: string): Date {
  const instant = new Date(text)
  if (ISO.test(text) && !Number.isNaN(instant.getTime())) return instant
  throw new InvalidOptionError(option, text, 'give an ISO instant, as 2030-01-31T12:00:00Z')
}

/** Where a stream is trimmed: an offset, an age with its unit, or an instant. */
export function beforeOption(text: string): TrimOptions['before'] {
  if (/^\d+$/.test(text)) return countOption('--before', text, 1)
  if (ISO.test(text)) return instantOption('--before', text)
  return `${duration(text)}ms`
}

/** A whole number, at least `least`. */
export function countOption(option: string, text: string, least: number): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count >= least) return count
  throw new InvalidOptionError(option, text, `give a whole number, at least ${least}`)
}

// A time without its zone would mean another instant on another machine.
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

const PRIORITIES: ReadonlyMap<string, Priority> = new Map<string, Priority>([
  ['high', 'high'],
  ['normal', 'normal'],
  ['low', 'low'],
  ['0', 0],
  ['1', 1],
  ['2', 2],
  ['3', 3],
  ['4', 4],
  ['5', 5],
  ['6', 6],
  ['7', 7],
  ['8', 8],
  ['9', 9],
])

/** 0 to 9, or one of the three words. */
export function priorityOption(option: string, text: string): Priority {
  const priority = PRIORITIES.get(text)
  if (priority !== undefined) return priority
  throw new InvalidOptionError(option, text, 'give 0 (first) to 9, or high, normal, low')
}
