import { milliseconds } from '../core/duration.ts'
import type { OptionsRead } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { checkCron, cronPattern } from './cron.ts'
import { firstAfter, lastUntil } from './wall-clock.ts'
import { isZone } from './zone.ts'

/**
 * When a schedule fires: its boundaries. Those of `every` are counted from any one of them, the
 * phase: the row's next fire is one, so that a phase lasts as long as its row.
 */
export type Timing =
  | { readonly type: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly type: 'every'; readonly everyMs: number }

/** Checks the options that say when. Throws `InvalidOptionError`; bounded in time, whatever is given. */
export function readTiming({ cron, every, timezone }: OptionsRead): Timing {
  if (cron !== undefined && every !== undefined) {
    throw new InvalidOptionError('every', every, 'there is a `cron` too. Give one of them.')
  }
  if (every !== undefined) {
    if (timezone === undefined) return { type: 'every', everyMs: readEvery(every) }
    throw new InvalidOptionError('timezone', timezone, 'it goes with `cron`. Leave it out.')
  }
  if (cron === undefined) {
    throw new InvalidOptionError('cron', cron, "give `cron`, like '0 6 * * *', or `every`.")
  }
  return { type: 'cron', cron: checkCron(cron), timezone: readZone(timezone) }
}

/** The first boundary after `at`. Null: it never fires again. */
export function boundaryAfter(timing: Timing, at: number, phase: number): number | null {
  if (timing.type === 'every') {
    return phase + (Math.floor((at - phase) / timing.everyMs) + 1) * timing.everyMs
  }
  return firstAfter({ pattern: cronPattern(timing.cron), zone: timing.timezone }, at)
}

/** The last boundary at or before `at`. */
export function boundaryUntil(timing: Timing, at: number, phase: number): number | null {
  if (timing.type === 'every') {
    return phase + Math.floor((at - phase) / timing.everyMs) * timing.everyMs
  }
  return lastUntil({ pattern: cronPattern(timing.cron), zone: timing.timezone }, at)
}

/** The first fire of a schedule that begins now. */
export function firstBoundary(timing: Timing, now: number): number | null {
  return boundaryAfter(timing, now, now)
}

// More often than this a schedule is a loop, and belongs into a handler.
const SHORTEST = 100
export const UTC = 'UTC'

function readEvery(every: unknown): number {
  const everyMs = milliseconds('every', every)
  if (everyMs >= SHORTEST) return everyMs
  throw new InvalidOptionError(
    'every',
    every,
    `it fires more often than each ${SHORTEST} ms. Numbers are milliseconds: for seconds write '30s'.`,
  )
}

function readZone(timezone: unknown): string {
  if (timezone === undefined) return UTC
  if (typeof timezone === 'string' && timezone.length <= LONGEST_ZONE && isZone(timezone)) {
    return timezone
  }
  throw new InvalidOptionError(
    'timezone',
    timezone,
    "it is no time zone that this machine knows. Give one of the IANA names, like 'Europe/Berlin'.",
  )
}

const LONGEST_ZONE = 100
