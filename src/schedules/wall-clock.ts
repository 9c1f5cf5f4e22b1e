import type { CronPattern } from './cron.ts'
import { changesBetween, offsetAt, stretchesOf } from './zone.ts'
import type { Stretch } from './zone.ts'

/**
 * What a cron pattern means in a zone whose clocks change (S3). A pattern that names hours means
 * times of the day: one that the clock leaves out fires at the first instant after the gap, one
 * that comes twice fires the first time. A pattern with all hours means real time: it fires at each
 * instant whose wall time it matches, through both of the repeated hours.
 *
 * Croner by itself leaves out lists of times in a gap, so it is only asked for wall times.
 */
export interface ZonedPattern {
  readonly pattern: CronPattern
  readonly zone: string
}

/** The first instant after `at` at which it fires; null when there is none any more. */
export function firstAfter(zoned: ZonedPattern, at: number): number | null {
  return zoned.pattern.isHourly ? firstRealAfter(zoned, at) : firstTimeAfter(zoned, at)
}

/** The last instant at which it fires, `at` or before it. */
export function lastUntil(zoned: ZonedPattern, at: number): number | null {
  return zoned.pattern.isHourly ? lastRealUntil(zoned, at) : lastTimeUntil(zoned, at)
}

// Samoa left out a whole day, and no zone is more than 14 hours from UTC.
const LONGEST_CHANGE = 26 * 3_600_000
const FURTHEST_OFFSET = 40 * 3_600_000

function firstTimeAfter({ pattern, zone }: ZonedPattern, at: number): number | null {
  const wall = pattern.after(wallReached(zone, at))
  return wall === null ? null : firstInstantOf(zone, wall)
}

function lastTimeUntil({ pattern, zone }: ZonedPattern, at: number): number | null {
  const wall = pattern.before(wallReached(zone, at) + 1)
  return wall === null ? null : firstInstantOf(zone, wall)
}

/**
 * Up to which wall time, and with it, all have been by then. After the clock was set back it has
 * shown later ones already.
 */
function wallReached(zone: string, at: number): number {
  const shown = changesBetween(zone, at - LONGEST_CHANGE, at).map((one) => one.at + one.before - 1)
  return Math.max(at + offsetAt(zone, at), ...shown)
}

/** When a clock first shows this time, or, where it leaves it out, when the gap is over. */
function firstInstantOf(zone: string, wall: number): number {
  const stretches = stretchesOf(zone, wall - FURTHEST_OFFSET, wall + FURTHEST_OFFSET)
  for (const { from, until, offset } of stretches) {
    if (wall - offset < until) return Math.max(wall - offset, from)
  }
  return wall
}

function firstRealAfter({ pattern, zone }: ZonedPattern, at: number): number | null {
  let [from, changed, offset] = [at, at, offsetAt(zone, at)]
  for (;;) {
    const wall = pattern.after(from + offset)
    if (wall === null) return null
    const [change] = changesBetween(zone, changed, wall - offset)
    if (change === undefined) return wall - offset
    // It would be after the change: looked for again from there, the change itself included.
    ;[from, changed, offset] = [change.at - 1, change.at, change.after]
  }
}

function lastRealUntil({ pattern, zone }: ZonedPattern, at: number): number | null {
  let until = at
  for (;;) {
    const stretch = stretchWith(zone, until)
    const wall = pattern.before(until + stretch.offset + 1)
    if (wall === null) return null
    if (wall - stretch.offset >= stretch.from) return wall - stretch.offset
    until = stretch.from - 1
  }
}

/** As far back as a year: what lies before is looked at from there. */
function stretchWith(zone: string, at: number): Stretch {
  const [change] = changesBetween(zone, at - YEAR, at).slice(-1)
  const from = change?.at ?? at - YEAR
  return { from, until: at, offset: change?.after ?? offsetAt(zone, at) }
}

const YEAR = 365 * 86_400_000
