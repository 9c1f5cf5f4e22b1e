import { InvalidOptionError } from '../errors.ts'

/** An instant from the command line. A date alone is its first instant in UTC. */
export function instantOption(option: string, text: string): Date {
  const instant = new Date(text)
  if (ISO.test(text) && !Number.isNaN(instant.getTime())) return instant
  throw new InvalidOptionError(option, text, 'give an ISO instant, as 2030-01-31T12:00:00Z')
}

/** A whole number, at least `least`. */
export function countOption(option: string, text: string, least: number): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count >= least) return count
  throw new InvalidOptionError(option, text, `give a whole number, at least ${least}`)
}

// A time without its zone would mean another instant on another machine.
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/
