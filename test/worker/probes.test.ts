import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClaimedRow } from '../../src/worker/claim-statements.ts'
import { levels } from '../../src/worker/levels.ts'
import type { Levels } from '../../src/worker/levels.ts'
import { marks } from '../../src/worker/marks.ts'
import {
  inOrder,
  lanesOf,
  LEVELS,
  lowerMarks,
  planClaim,
  recordLook,
  recordWalk,
} from '../../src/worker/probes.ts'
import type { ClaimPlan, ProbeSpace, Room } from '../../src/worker/probes.ts'
import { withShares } from '../../src/worker/shares.ts'

const NOW = 1_000_000
const AMPLE: Room = { freeOfKind: () => 99, freeOfQueue: () => 99 }

const plain: ProbeSpace = {
  queues: ['a', 'b'],
  lanes: lanesOf([
    { name: 'y', concurrency: null },
    { name: 'x', concurrency: null },
  ]),
  queueCaps: new Map(),
}
const capped: ProbeSpace = {
  queues: ['a'],
  lanes: lanesOf([
    { name: 'x', concurrency: null },
    { name: 'h', concurrency: 2 },
  ]),
  queueCaps: new Map(),
}

function plan(
  space: ProbeSpace,
  change: { room?: Room; turn?: number; most?: number } = {},
): ClaimPlan {
  const { room = AMPLE, turn = 0, most = 10 } = change
  return planClaim(space, { slots: room, marks: marks(), turn, most })
}

function waiting(...known: readonly number[]): Levels {
  const made = levels()
  made.learn(known.map((level) => ({ queue: 'a', level, lane: 0 })))
  return made
}

let rows = 0
function row(change: Partial<ClaimedRow> = {}): ClaimedRow {
  rows += 1
  return {
    job_id: `job ${String(rows).padStart(5, '0')}`,
    run: 1,
    kind: 'x',
    queue: 'a',
    priority: 5,
    failures: 0,
    due_at: NOW - 500,
    lease_ms: 60_000,
    lease_ends_at: NOW + 60_000,
    payload: null,
    options: null,
    carry: null,
    ...change,
  }
}

test('C4: kinds without a cap share a lane, each capped kind has one of its own', () => {
  const lanes = lanesOf([
    { name: 'z', concurrency: null },
    { name: 'h', concurrency: 2 },
    { name: 'a', concurrency: null },
  ])
  expect(lanes.map(({ kinds, capped }) => ({ kinds, capped }))).toEqual([
    { kinds: ['a', 'z'], capped: false },
    { kinds: ['h'], capped: true },
  ])
})

test('C1: a plan asks every level of every queue, the queue of the turn first', () => {
  const probes = plan(plain, { turn: 3 }).rows.map(({ turn, queue, level }) => [turn, queue, level])
  expect(probes).toEqual([
    ...LEVELS.map((level) => [0, 'b', level]),
    ...LEVELS.map((level) => [1, 'a', level]),
  ])
})

test('C4: a lane or a queue without room is not asked for', () => {
  const noHeavy: Room = { ...AMPLE, freeOfKind: () => 0 }
  expect(plan(capped, { room: noHeavy }).rows.every(({ kinds }) => kinds[0] === 'x')).toBe(true)
  const noB: Room = { ...AMPLE, freeOfQueue: (queue) => (queue === 'b' ? 0 : 99) }
  expect(plan(plain, { room: noB }).rows.every(({ queue }) => queue === 'a')).toBe(true)
})

test('C4: a probe asks for no more than claim, lane and queue have room for', () => {
  const room: Room = { freeOfKind: () => 3, freeOfQueue: () => 7 }
  const { rows: probes, mustCount } = plan(capped, { room, most: 5 })
  expect(mustCount).toBe(true)
  expect(probes.find(({ kinds }) => kinds[0] === 'h')).toMatchObject({
    most: 3,
    lane_most: 3,
    queue_most: 5,
  })
  expect(probes.find(({ kinds }) => kinds[0] === 'x')).toMatchObject({
    most: 5,
    lane_most: 1_000_000,
    queue_most: 5,
  })
})

test('C1: the rows of a claim come in the order of turn, priority, due time and id', () => {
  const ordered = [
    row({ queue: 'b', priority: 9 }),
    row({ queue: 'a', priority: 1, due_at: 9 }),
    row({ queue: 'a', priority: 2, due_at: 1, job_id: 'A' }),
    row({ queue: 'a', priority: 2, due_at: 1, job_id: 'B' }),
    row({ queue: 'a', priority: 2, due_at: 2, job_id: 'A' }),
  ]
  expect(inOrder(ordered.toReversed(), plan(plain, { turn: 1 }))).toEqual(ordered)
})

test('marks: where a claim found less than it asked for, every probe is at its end', () => {
  const found = marks()
  const made = plan(plain)
  recordWalk(made, [row({ due_at: NOW - 100, job_id: 'Z' })], {
    space: plain,
    marks: found,
    now: NOW,
    most: 10,
  })
  const lane = plain.lanes[0]?.key ?? ''
  expect(found.of({ queue: 'a', level: 5, lane })).toEqual({ due: NOW - 100, id: 'Z' })
  expect(found.of({ queue: 'b', level: 0, lane })).toEqual({ due: NOW - 250, id: '' })
})

test('marks: once the limit is reached, nothing is known of the probes behind', () => {
  const found = marks()
  const made = plan(plain, { most: 2 })
  const claimed = [row({ due_at: 7, job_id: 'A' }), row({ due_at: 8, job_id: 'B' })]
  recordWalk(made, claimed, { space: plain, marks: found, now: NOW, most: 2 })
  const lane = plain.lanes[0]?.key ?? ''
  const dueOf = (queue: string, level: number): number => found.of({ queue, level, lane }).due
  expect(dueOf('a', 4)).toBe(NOW - 250)
  expect(dueOf('a', 5)).toBe(8)
  expect(dueOf('a', 6)).toBe(Number.NEGATIVE_INFINITY)
  expect(dueOf('b', 0)).toBe(Number.NEGATIVE_INFINITY)
})

test('marks: a filled claim in which levels take turns says that what stands in front is empty', () => {
  const found = marks()
  const made = withShares(plan(plain, { most: 4 }), { levels: waiting(5, 8), ratio: 2 })
  expect(made.shared?.queue).toBe('a')
  const claimed = [5, 8, 5, 8].map((priority, index) => row({ priority, due_at: index }))
  recordWalk(made, claimed, { space: plain, marks: found, now: NOW, most: 4 })
  const lane = plain.lanes[0]?.key ?? ''
  const dueOf = (level: number): number => found.of({ queue: 'a', level, lane }).due
  // Better levels than those that take turns are asked for everything, first.
  expect([0, 4].map(dueOf)).toEqual([NOW - 250, NOW - 250])
  expect([5, 8].map(dueOf)).toEqual([2, 3])
  // Worse ones were not asked for.
  expect(dueOf(9)).toBe(Number.NEGATIVE_INFINITY)
})

test('marks: a look that found nothing in a probe has walked it to its end', () => {
  const found = marks()
  const made = plan(plain)
  recordLook(made, [{ queue: 'a', level: 5, lane: 0 }], { space: plain, marks: found, now: NOW })
  const lane = plain.lanes[0]?.key ?? ''
  expect(found.of({ queue: 'a', level: 5, lane }).due).toBe(Number.NEGATIVE_INFINITY)
  expect(found.of({ queue: 'a', level: 8, lane })).toEqual({ due: NOW - 250, id: '' })
  expect(found.of({ queue: 'b', level: 5, lane })).toEqual({ due: NOW - 250, id: '' })
})

test('marks: a lane that took all it may keeps its mark at the last row, whatever the others found', () => {
  const found = marks()
  const made = plan(capped, { room: { ...AMPLE, freeOfKind: () => 2 } })
  const claimed = [
    row({ kind: 'h', due_at: 7, job_id: 'A' }),
    row({ kind: 'h', due_at: 8, job_id: 'B' }),
  ]
  recordWalk(made, claimed, { space: capped, marks: found, now: NOW, most: 10 })
  expect(found.of({ queue: 'a', level: 5, lane: 'h' }).due).toBe(8)
  expect(found.of({ queue: 'a', level: 6, lane: 'h' }).due).toBe(Number.NEGATIVE_INFINITY)
  expect(found.of({ queue: 'a', level: 5, lane: 'x' }).due).toBe(NOW - 250)
})

test('marks: a hidden row lowers the mark of its probe alone', () => {
  const found = marks()
  recordWalk(plan(plain), [], { space: plain, marks: found, now: NOW, most: 10 })
  const lane = plain.lanes[0]?.key ?? ''
  const hidden = { queue: 'a', level: 3, lane: 0, due_at: 11, job_id: 'Q' }
  expect(lowerMarks([hidden], plain, found)).toBe(true)
  expect(found.of({ queue: 'a', level: 3, lane })).toEqual({ due: 11, id: 'Q' })
  expect(found.of({ queue: 'a', level: 4, lane }).due).toBe(NOW - 250)
  expect(lowerMarks([], plain, found)).toBe(false)
})

test('marks: no row that was due, could be claimed and was not, is ever behind a mark', () => {
  const jobs = fc.array(
    fc.record({
      queue: fc.constantFrom('a', 'b'),
      priority: fc.constantFrom(0, 5, 9),
      kind: fc.constantFrom('x', 'h'),
      due_at: fc.integer({ min: NOW - 2_000, max: NOW - 300 }),
    }),
    { maxLength: 30 },
  )
  const space: ProbeSpace = { ...capped, queues: ['a', 'b'] }
  fc.assert(
    fc.property(
      jobs,
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 3 }),
      (given, most, cap) => {
        const waiting = given.map((each) => row(each))
        const found = marks()
        const room: Room = { ...AMPLE, freeOfKind: () => cap }
        const made = planClaim(space, { slots: room, marks: found, turn: 0, most })
        const claimed = inOrder(claimBy(made, waiting, most), made)
        recordWalk(made, claimed, { space, marks: found, now: NOW, most })
        for (const left of waiting.filter((each) => !claimed.includes(each))) {
          const lane = space.lanes.find(({ kinds }) => kinds.includes(left.kind))?.key ?? ''
          const mark = found.of({ queue: left.queue, level: left.priority, lane })
          const isHidden =
            left.due_at < mark.due || (left.due_at === mark.due && left.job_id < mark.id)
          expect(isHidden).toBe(false)
        }
      },
    ),
  )
})

/** What the statement within caps does, in a few lines. */
function claimBy(
  made: ClaimPlan,
  waiting: readonly ClaimedRow[],
  most: number,
): readonly ClaimedRow[] {
  const taken: ClaimedRow[] = []
  for (const probe of made.rows) {
    const due = inOrder(
      waiting.filter(
        (each) =>
          each.queue === probe.queue &&
          each.priority === probe.level &&
          probe.kinds.includes(each.kind),
      ),
      made,
    ).slice(0, probe.most)
    for (const each of due) {
      const inLane = taken.filter((other) => probe.kinds.includes(other.kind)).length
      if (inLane < probe.lane_most) taken.push(each)
    }
  }
  return inOrder(taken, made).slice(0, most)
}
