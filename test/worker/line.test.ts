import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { ManualClock } from '../../src/core/manual-clock.ts'
import { CancelledError, LeaseLostError } from '../../src/errors.ts'
import type { ClaimedRow } from '../../src/worker/claim-statements.ts'
import { line } from '../../src/worker/line.ts'
import type { Line } from '../../src/worker/line.ts'
import { roster } from '../../src/worker/roster.ts'
import type { Roster } from '../../src/worker/roster.ts'
import { liveHeap } from '../support/heap.ts'
import { NOON } from '../support/mill.ts'

const JOBS = 50_000

interface Bench {
  readonly waiting: Line
  readonly clock: ManualClock
  readonly live: Roster
  /** What left without a run, with whether its lease was lost. */
  readonly left: string[]
}

test('the first that was held is the first to begin', () => {
  const { waiting, live } = held(['a', 'b'])
  expect([waiting.next()?.job_id, waiting.next()?.job_id, waiting.next()]).toEqual([
    'a',
    'b',
    undefined,
  ])
  expect(waiting.size).toBe(0)
  // Whose turn came is the run's entry now: who begins it takes its place.
  expect(live.size).toBe(2)
})

test('L1: what waits is renewed as a run is, and begins with the lease as it was renewed', () => {
  const { waiting, live } = held(['a'])
  const entry = live.get('a', 1)
  if (entry === undefined) throw new Error('a job in line is not in the roster')
  expect(entry.renewAt).toBe(NOON + 20_000)
  entry.leaseEndsAt = NOON + 90_000
  expect(waiting.next()?.lease_ends_at).toBe(NOON + 90_000)
})

test('L2: what has little of its lease left goes back rather than begin', () => {
  const { waiting, clock, left } = held(['a'])
  // As after a long stop of the process: the timers of the meantime have not fired yet.
  Object.assign(clock, { now: () => NOON + 50_000 })
  expect(waiting.next()).toBeUndefined()
  expect(left).toEqual(['a back'])
})

test('L2: a lease that was lost while it waited is dropped, and a cancelled job goes back to be settled', () => {
  const { waiting, live, left } = held(['a', 'b', 'c'])
  live.get('a', 1)?.abort(new LeaseLostError('a', 1))
  live.get('b', 1)?.abort(new CancelledError('b', null))
  expect(left).toEqual(['a lost', 'b back'])
  expect(waiting.next()?.job_id).toBe('c')
  expect(live.size).toBe(1)
})

test('what is told once its turn has come changes nothing in line', () => {
  const { waiting, live, left } = held(['a'])
  const entry = live.get('a', 1)
  waiting.next()
  entry?.abort(new LeaseLostError('a', 1))
  expect(left).toEqual([])
  expect(waiting.size).toBe(0)
})

test('what waited half a second goes back, the rest later', () => {
  const { waiting, clock, left } = held(['a'])
  clock.advance(300)
  waiting.hold(row('b', NOON))
  clock.advance(200)
  expect(left).toEqual(['a back'])
  clock.advance(500)
  expect(left).toEqual(['a back', 'b back'])
  expect(clock.timers).toBe(0)
})

test('an empty line leaves no timer behind', () => {
  const { waiting, clock } = held(['a'])
  waiting.next()
  waiting.next()
  expect(clock.timers).toBe(0)
  waiting.hold(row('b', NOON))
  waiting.sendBack(() => true)
  expect(clock.timers).toBe(0)
  waiting.hold(row('c', NOON))
  expect(clock.timers).toBe(1)
})

test('a line that is never empty keeps nothing of those whose turn came', () => {
  const { waiting, live } = held(['first'])
  const early = liveHeap()
  for (let number = 0; number < JOBS; number += 1) {
    waiting.hold(row(`job ${number}`, NOON))
    const id = waiting.next()?.job_id ?? ''
    const entry = live.get(id, 1)
    if (entry !== undefined) live.remove(entry)
  }
  expect(waiting.size).toBe(1)
  // 400 where each is kept; their payloads come on top.
  expect((liveHeap() - early) / JOBS).toBeLessThan(30)
})

function held(ids: readonly string[]): Bench {
  const clock = manualClock(NOON)
  const live = roster()
  const left: string[] = []
  const waiting = line({
    clock,
    roster: live,
    onHeld: () => undefined,
    onLeft: (gone, isLost) => left.push(`${gone.job_id} ${isLost ? 'lost' : 'back'}`),
  })
  for (const id of ids) waiting.hold(row(id, NOON))
  return { waiting, clock, live, left }
}

function row(id: string, now: number): ClaimedRow {
  return {
    job_id: id,
    run: 1,
    kind: 'visit',
    queue: 'default',
    priority: 5,
    failures: 0,
    due_at: now,
    lease_ms: 60_000,
    lease_ends_at: now + 60_000,
    payload: 'null',
    options: null,
    carry: null,
  }
}
