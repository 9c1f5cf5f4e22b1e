import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { ManualClock } from '../../src/core/manual-clock.ts'
import { ahead, isLastChance } from '../../src/worker/ahead.ts'
import type { Ahead } from '../../src/worker/ahead.ts'
import type { ClaimedRow } from '../../src/worker/claim-statements.ts'
import { NOON } from '../support/mill.ts'

const ROW: ClaimedRow = {
  job_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  run: 1,
  kind: 'visit',
  queue: 'default',
  priority: 5,
  failures: 0,
  due_at: NOON,
  lease_ms: 60_000,
  lease_ends_at: NOON + 60_000,
  payload: '{"page":1}',
  options: null,
  carry: null,
}

test('nothing is claimed ahead before as many runs have ended as there are slots', () => {
  const { pace, clock } = make(10)
  runs(pace, clock, 9, 1)
  expect(pace.most()).toBe(0)
  runs(pace, clock, 1, 1)
  expect(pace.most()).toBeGreaterThan(0)
})

test.each([
  { ms: 1, most: 500 },
  { ms: 5, most: 100 },
  { ms: 50, most: 10 },
  { ms: 500, most: 1 },
  { ms: 600, most: 0 },
])('with runs of $ms ms ten slots claim $most jobs ahead: what begins within 50 ms', (given) => {
  const { pace, clock } = make(10)
  runs(pace, clock, 200, given.ms)
  expect(pace.most()).toBe(given.most)
})

test('no more than the limit, and none where it is 0', () => {
  for (const limit of [0, 7]) {
    const { pace, clock } = make(10, limit)
    runs(pace, clock, 50, 0)
    expect(pace.most()).toBe(limit)
  }
})

test('runs that go on say that the pace is over before any of them ends', () => {
  const { pace, clock } = make(10)
  runs(pace, clock, 200, 1)
  for (let run = 0; run < 10; run += 1) pace.began(clock.now())
  expect(pace.most()).toBe(500)
  clock.advance(1_000)
  expect(pace.most()).toBe(0)
})

test('large payloads wait in the database rather than in memory', () => {
  const { pace, clock } = make(10)
  runs(pace, clock, 50, 0)
  pace.claimed(Array.from({ length: 300 }, () => ({ ...ROW, payload: 'x'.repeat(256 * 1024) })))
  expect(pace.most()).toBe(16)
})

test('jobs that the next failure would end are not held, a few of them are no matter', () => {
  const last = { ...ROW, options: '{"failures":1}' }
  const { pace, clock } = make(10)
  runs(pace, clock, 50, 0)
  pace.claimed([...Array.from({ length: 199 }, () => ROW), last])
  expect(pace.most()).toBe(1_000)
  pace.claimed(Array.from({ length: 20 }, () => last))
  expect(pace.most()).toBe(0)
})

test('a last chance is the failure before the limit of the job', () => {
  expect(isLastChance(ROW)).toBe(false)
  expect(isLastChance({ ...ROW, failures: 9 })).toBe(true)
  expect(isLastChance({ ...ROW, options: '{"failures":2}', failures: 1 })).toBe(true)
})

function make(concurrency: number, limit = 1_000): { pace: Ahead; clock: ManualClock } {
  const clock = manualClock(NOON)
  return { pace: ahead({ clock, concurrency, limit }), clock }
}

function runs(pace: Ahead, clock: ManualClock, count: number, ms: number): void {
  for (let run = 0; run < count; run += 1) {
    const at = clock.now()
    pace.began(at)
    clock.advance(ms)
    pace.ended(at)
  }
}
