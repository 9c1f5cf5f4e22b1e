import { boundaryAfter, boundaryUntil } from './timing.ts'
import type { Timing } from './timing.ts'

/** What is fired of a schedule that is due, and when it is due again. */
export interface FirePlan {
  /** The boundaries that get a job, the oldest first. */
  readonly boundaries: readonly number[]
  /** Null: it never fires again. */
  readonly next: number | null
}

export interface DueSchedule {
  readonly timing: Timing
  /** The boundary that is due. */
  readonly nextFireAt: number
  /** How many missed boundaries get a job: the latest ones. 0: none that is really late. */
  readonly catchUp: number
  /** Only one at a time, so that a second one would find the first alive. */
  readonly skipsOverlap: boolean
}

/**
 * Decides what a schedule fires now (S2). Usually one boundary is due, and it is fired. After an
 * outage there are more, and `catchUp` says how many of them, counted from the latest back, so that
 * a schedule of seconds that nobody looked at for a month costs no more than one of months.
 */
export function planFire(due: DueSchedule, now: number): FirePlan {
  const { timing, nextFireAt, catchUp, skipsOverlap } = due
  const next = boundaryAfter(timing, now, nextFireAt)
  const most = skipsOverlap ? Math.min(1, catchUp) : catchUp
  const latest = latestBoundaries(due, now, Math.max(1, most))
  const isLate = now - (latest.at(-1) ?? now) > ON_TIME
  return { boundaries: catchUp === 0 && isLate ? [] : latest, next }
}

// Without a listener a fire comes up to a second after its boundary, and later still on a busy host.
const ON_TIME = 10_000

function latestBoundaries(
  { timing, nextFireAt }: DueSchedule,
  now: number,
  most: number,
): readonly number[] {
  const found: number[] = []
  let at = boundaryUntil(timing, now, nextFireAt)
  while (at !== null && at >= nextFireAt && found.length < most) {
    found.push(at)
    at = boundaryUntil(timing, at - 1, nextFireAt)
  }
  // The row's own boundary, though this machine knows other rules of its zone.
  if (found.length === 0) found.push(nextFireAt)
  return found.toReversed()
}
