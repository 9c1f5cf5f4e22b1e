import { expect, test } from 'vitest'
import type { About, Fact } from '../history/fact.ts'
import type { Strike } from './crew.ts'
import { LEASE_MS } from './kinds.ts'
import { lateRecoveries, recoveriesOf } from './recovery.ts'

const NONE = { count: 0, medianMs: Number.NaN, maxMs: Number.NEGATIVE_INFINITY }
const RUN = { job: 'J', run: 1, worker: 'A' } as const
const OF_KIND = { kind: 'k', queue: 'q', isTransactional: false } as const

function fact(at: number, process: string, about: About): Fact {
  return { at, process, ...about }
}

function settled(at: number, worker: string): Fact {
  const own = { job: `J ${at}`, run: 1, worker, outcome: 'completed', applied: true } as const
  return fact(at, worker, { what: 'settled', ...own })
}

function strike(how: string, target: string | null, from: number): Strike {
  return { how, target, from, to: from + 100 }
}

/** A is killed at 1 000 with a run of J; B begins the next at `again`. */
function takenOver(again: number): readonly Fact[] {
  const record = { startedAt: 900, recordedAt: again - 100, dueAt: again, ...RUN } as const
  return [
    fact(900, 'A', { what: 'began', ...RUN, ...OF_KIND }),
    fact(again, 'B', { what: 'began', ...RUN, run: 2, worker: 'B', ...OF_KIND }),
    fact(0, 'tables', { what: 'recorded', outcome: 'stale-recovered', ...record }),
  ]
}

test('a fault that another met is counted apart', () => {
  const facts = [settled(400, 'A'), settled(900, 'B')]
  const [ofOne, ofAll, ofOther] = [
    strike('cut', 'A', 0),
    strike('backends', null, 200),
    strike('cut', 'B', 0),
  ]
  expect(recoveriesOf([ofOne, ofOther], facts)).toMatchObject([{ alone: { count: 2 } }])
  expect(recoveriesOf([ofOne, ofAll], facts)).toMatchObject([
    { met: { count: 1 } },
    { met: { count: 1 } },
  ])
})

test('a fault that hit one is over when that one settles again, whatever others do', () => {
  const facts = [settled(50, 'A'), settled(120, 'B'), settled(400, 'A')]
  expect(recoveriesOf([strike('cut', 'A', 0)], facts)).toEqual([
    { how: 'cut', alone: { count: 1, medianMs: 300, maxMs: 300 }, met: NONE, unknown: 0 },
  ])
})

test('a fault that hit all is over when anybody settles', () => {
  const facts = [settled(50, 'A'), settled(120, 'B'), settled(400, 'A')]
  expect(recoveriesOf([strike('restart fast', null, 0)], facts)).toEqual([
    { how: 'restart fast', alone: { count: 1, medianMs: 20, maxMs: 20 }, met: NONE, unknown: 0 },
  ])
})

test('a fault behind which nothing came is counted apart', () => {
  expect(recoveriesOf([strike('cut', 'A', 500)], [settled(50, 'A')])).toMatchObject([
    { how: 'cut', alone: NONE, met: NONE, unknown: 1 },
  ])
})

test('a kill is over when the last of its jobs is begun elsewhere', () => {
  expect(recoveriesOf([strike('kill', 'A', 1_000)], takenOver(6_000))).toMatchObject([
    { how: 'kill', alone: { count: 1, maxMs: 4_900 } },
  ])
})

test('jobs of a killed worker that come back late are found', () => {
  const [kill, late] = [strike('kill', 'A', 1_000), LEASE_MS + 60_000]
  expect(lateRecoveries([kill], takenOver(6_000))).toEqual([])
  expect(lateRecoveries([kill], takenOver(late))).toHaveLength(1)
})

test('what was done to all meanwhile excuses as long', () => {
  const [kill, late] = [strike('kill', 'A', 1_000), LEASE_MS + 30_000]
  const outage = { how: 'restart fast', target: null, from: 2_000, to: 32_000 }
  expect(lateRecoveries([kill, outage], takenOver(late))).toEqual([])
})
