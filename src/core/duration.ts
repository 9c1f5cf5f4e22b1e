import ms from 'ms'
import { InvalidOptionError } from '../errors.ts'

/** Milliseconds, seconds, minutes, hours, days, weeks. */
export type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w'

/**
 * `'250ms'`, `'30s'`, `'5m'`, `'1h'`, `'7d'`, `'2w'`, or a number of **milliseconds** (not of
 * seconds). Whole milliseconds, longer than nothing, at most 100 years; an option that takes 0 says so.
 *
 * @example
 * await mill.enqueue(welcome, { userId }, { delay: '5m' })
 */
export type Duration = number | `${number}${Unit}`

export interface DurationLimits {
  /** Whether 0 is a value (a delay of nothing, records kept for no time). Default false. */
  readonly zero?: boolean | undefined
  /** The longest that this option takes, in milliseconds. Default 100 years. */
  readonly max?: number | undefined
}

/**
 * Text from a configuration to milliseconds: a number and one of `ms s m h d w`. `'0s'` is 0; the
 * option it is given to decides whether that is a value.
 *
 * Throws `InvalidOptionError` for anything else, also for a number without a unit.
 *
 * @example
 * const grace = duration(process.env['GRACE'] ?? '30s') // 30000
 */
export function duration(text: string): number {
  if (typeof text !== 'string') throw new InvalidOptionError('duration', text, GRAMMAR)
  return milliseconds('duration', text, { zero: true })
}

/** Checks what was given for `option`, whatever it is, and gives it in milliseconds. */
export function milliseconds(option: string, value: unknown, limits: DurationLimits = {}): number {
  const found = typeof value === 'string' ? parsed(value) : value
  if (typeof found !== 'number' || Number.isNaN(found)) {
    throw new InvalidOptionError(option, value, GRAMMAR)
  }
  const problem = problemOf(found, limits)
  if (problem !== undefined) throw new InvalidOptionError(option, value, problem)
  return found
}

const GRAMMAR =
  "a duration is a number of milliseconds, or a number and a unit of ms s m h d w. Write it like '30s' or 30000."

const DAY = 86_400_000

// Longer than any duration that is meant: a larger one is a mistaken unit or a stand-in for "never".
const LONGEST = 36_525 * DAY

type DurationText = `${number}${Unit}`

// Narrower than what the package reads: it takes '5', '5 minutes' and '5M' too.
function isDurationText(text: string): text is DurationText {
  return /^-?\d{1,16}(?:\.\d{1,16})?(?:ms|s|m|h|d|w)$/.test(text)
}

function parsed(text: string): number | undefined {
  if (!isDurationText(text)) return undefined
  const exact = ms(text)
  // '1.005s' is 1004.9999999999999 in binary; what is off by the last digit is meant to be whole.
  const whole = Math.round(exact)
  return Math.abs(exact - whole) <= Math.abs(exact) * 2 * Number.EPSILON ? whole : exact
}

function problemOf(found: number, limits: DurationLimits): string | undefined {
  if (found < 0) return 'a duration cannot be negative. Give a positive one.'
  if (found === 0) return limits.zero === true ? undefined : 'it must be longer than nothing.'
  const max = limits.max ?? LONGEST
  if (found > max) return `at most ${max / DAY} days fit. Give a shorter one.`
  return Number.isInteger(found) ? undefined : 'milliseconds are whole here. Round it.'
}
