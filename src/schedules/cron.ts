import { Cron } from 'croner'
import { InvalidOptionError } from '../errors.ts'

/**
 * A cron pattern as a set of wall-clock times. A wall time is written here as the milliseconds that
 * it would be in UTC, where croner enumerates them: no clock changes there. What a zone makes of
 * them is for `wall-clock.ts` to say.
 */
export interface CronPattern {
  /** All 24 hours: then it goes on by real time where clocks change. */
  readonly isHourly: boolean
  /** The next wall time after this one; null when there is none any more. */
  after(wall: number): number | null
  /** The last wall time before this one. */
  before(wall: number): number | null
}

/** Reads what was stored, or was checked before. Throws what croner throws. */
export function cronPattern(text: string): CronPattern {
  const known = patterns.get(text)
  if (known !== undefined) return known
  const cron = read(text)
  const made: CronPattern = {
    isHourly: isHourly(text),
    after: (wall) => cron.nextRun(new Date(wall))?.getTime() ?? null,
    before: (wall) => {
      // Croner looks before the second that the instant is in, or at it if there is more of it.
      const second = Math.ceil(wall / SECOND) * SECOND
      return cron.previousRuns(1, new Date(second))[0]?.getTime() ?? null
    },
  }
  if (patterns.size >= MOST_KEPT) patterns.clear()
  patterns.set(text, made)
  return made
}

/**
 * Checks a pattern that a user gives, in a bounded time: its length first. Throws
 * `InvalidOptionError`.
 */
export function checkCron(given: unknown): string {
  if (typeof given !== 'string') throw refused(given, 'a pattern is text. ')
  if (given.length > LONGEST) throw refused(given, `it is longer than ${LONGEST} characters. `)
  const fields = fieldsOf(given).length
  if (fields !== 5 && fields !== 6) throw refused(given, `it has ${fields} fields. `)
  const pattern = readable(given)
  const first = pattern.after(SOME_TIME)
  if (first === null) throw refused(given, 'no date is like that, so it would never fire. ')
  if (firesEachSecond(pattern)) {
    throw new InvalidOptionError(
      'cron',
      given,
      "it fires in every second. For each minute leave the first field out; if you mean each second, write every: '1s'.",
    )
  }
  return given
}

const SECOND = 1_000
const LONGEST = 1_000
const MOST_KEPT = 500
// 2024-01-01T00:00:00Z. Whether a pattern ever fires does not depend on the present.
const SOME_TIME = 1_704_067_200_000
// An hour, a minute and seven seconds over a day: some hundred steps come by every hour, minute,
// second, weekday and month.
const STRIDE = 90_067_000
const STRIDES = 500
const GRAMMAR =
  "Write 5 fields (minute hour day month weekday), or 6 with seconds first, like '30 2 * * MON-FRI'."

const patterns = new Map<string, CronPattern>()

function readable(text: string): CronPattern {
  try {
    return cronPattern(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^CronPattern: /, '') : 'unreadable'
    throw refused(text, `it cannot be read (${why.replace(/\.$/, '')}). `, cause)
  }
}

function read(text: string): Cron {
  return new Cron(text, { timezone: 'UTC', mode: '5-or-6-parts', paused: true })
}

function fieldsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

/** Whether the hour field holds all hours, however it says so. */
function isHourly(text: string): boolean {
  const hours = fieldsOf(text).at(-4) ?? '*'
  const runs = read(`0 ${hours} * * *`).nextRuns(24, new Date(SOME_TIME))
  const [first, last] = [runs[0], runs[23]]
  if (first === undefined || last === undefined) return false
  return last.getTime() - first.getTime() === 23 * 3_600 * SECOND
}

function firesEachSecond(pattern: CronPattern): boolean {
  for (let step = 0; step < STRIDES; step += 1) {
    const wall = SOME_TIME + step * STRIDE
    if (pattern.after(wall) !== wall + SECOND) return false
  }
  return true
}

function refused(given: unknown, why: string, cause?: unknown): InvalidOptionError {
  return new InvalidOptionError('cron', given, { text: why + GRAMMAR, cause })
}
