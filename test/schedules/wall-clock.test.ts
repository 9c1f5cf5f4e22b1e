import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cronPattern } from '../../src/schedules/cron.ts'
import { boundaryAfter, boundaryUntil } from '../../src/schedules/timing.ts'
import type { Timing } from '../../src/schedules/timing.ts'
import { CLOCK_CHANGES } from './clock-changes.ts'

const MINUTE = 60_000
const DAY = 86_400_000

function firesBetween(timing: Timing, from: number, to: number): readonly number[] {
  const found: number[] = []
  for (let at = boundaryAfter(timing, from, from); at !== null && at <= to;) {
    found.push(at)
    at = boundaryAfter(timing, at, from)
  }
  return found
}

function firesBack(timing: Timing, from: number, to: number): readonly number[] {
  const found: number[] = []
  for (let at = boundaryUntil(timing, to, from); at !== null && at > from;) {
    found.unshift(at)
    at = boundaryUntil(timing, at - 1, from)
  }
  return found
}

test.each(CLOCK_CHANGES)(
  'S3, replays 20: $cron in $zone ($change)',
  ({ zone, cron, from, to, fires }) => {
    const timing: Timing = { type: 'cron', cron, timezone: zone }
    const [begin, end] = [Date.parse(from), Date.parse(to)]
    const expected = fires.map((at) => Date.parse(at))
    expect(firesBetween(timing, begin, end)).toEqual(expected)
    expect(firesBack(timing, begin, end)).toEqual(expected)
  },
)

/** What the rules say, minute by minute, from what a clock on the wall shows: slow, and another way to get there. */
function oracle(cron: string, zone: string, from: number, to: number): readonly number[] {
  const pattern = cronPattern(cron)
  const due = new Set<number>()
  for (let wall = pattern.after(from - 3 * DAY); wall !== null && wall < to + DAY;) {
    due.add(wall)
    wall = pattern.after(wall)
  }
  const shows = wallIn(zone)
  const fires: number[] = []
  const shown = new Set<number>()
  let last = shows(from - DAY)
  for (let at = from - DAY; at <= to; at += MINUTE) {
    const wall = shows(at)
    const isRepeated = shown.has(wall)
    let isDue = due.has(wall) && (pattern.isHourly || !isRepeated)
    // Times that the clock left out just now.
    for (let left = last + MINUTE; left < wall; left += MINUTE) {
      if (!pattern.isHourly && due.has(left) && !shown.has(left)) isDue = true
      shown.add(left)
    }
    shown.add(wall)
    last = wall
    if (isDue && at > from) fires.push(at)
  }
  return fires
}

function wallIn(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  return (at) => Date.parse(`${format.format(at).replace(' ', 'T')}Z`)
}

test('S3: around any change the fires are those that a clock on the wall would make', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca']
  const changes = ['2025-03-30', '2025-10-26', '2025-03-09', '2025-11-02', '2025-10-05']
  const days = [...changes, '2025-04-06', '2025-02-23', '2025-04-06']
  const minutes = fc.constantFrom('0', '30', '15,45', '*/20', '59')
  const hours = fc.constantFrom('*', '2', '1', '0-3', '1,2', '*/2', '3', '0-23')
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...days),
      fc.tuple(minutes, hours, fc.integer({ min: -20, max: 20 })),
      (zone, day, [minute, hour, shift]) => {
        const cron = `${minute} ${hour} * * *`
        const from = Date.parse(day) + shift * 30 * MINUTE - 6 * 60 * MINUTE
        const to = from + DAY
        const timing: Timing = { type: 'cron', cron, timezone: zone }
        const expected = oracle(cron, zone, from, to)
        expect(firesBetween(timing, from, to)).toEqual(expected)
        expect(firesBack(timing, from, to)).toEqual(expected)
      },
    ),
    { numRuns: 60 },
  )
}, 60_000)

test.each([
  ['Pacific/Apia', '0 12 * * *', '2011-12-28T23:00Z', ['2011-12-29T22:00Z', '2011-12-30T10:00Z']],
  ['UTC', '0 0 29 2 *', '2096-03-01T00:00Z', ['2104-02-29T00:00Z']],
  ['Africa/Casablanca', '0 3 L * *', '2025-02-20T00:00Z', ['2025-02-28T03:00Z']],
  ['Europe/Berlin', '30 59 23 31 dec *', '2025-01-01T00:00Z', ['2025-12-31T22:59:30Z']],
] as const)('S3: in %s %s goes on over days that are not, and years', (zone, cron, from, fires) => {
  let at = Date.parse(from)
  for (const fire of fires) {
    at = boundaryAfter({ type: 'cron', cron, timezone: zone }, at, at) ?? Number.NaN
    expect(new Date(at)).toEqual(new Date(fire))
  }
})

test('S1: the phase of every is kept, before and after any boundary of it', () => {
  const timing: Timing = { type: 'every', everyMs: 7_000 }
  expect(boundaryAfter(timing, 1_000, 1_000)).toBe(8_000)
  expect(boundaryAfter(timing, 7_999, 1_000)).toBe(8_000)
  expect(boundaryAfter(timing, 100, 701_000)).toBe(1_000)
  expect(boundaryUntil(timing, 8_000, 1_000)).toBe(8_000)
  expect(boundaryUntil(timing, 7_999, 1_000)).toBe(1_000)
  expect(boundaryUntil(timing, 100, 701_000)).toBe(-6_000)
})
