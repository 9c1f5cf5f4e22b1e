import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { ManualClock } from '../../src/core/manual-clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import type { Statement } from '../../src/database/statement.ts'
import { leaseKeeper } from '../../src/worker/lease.ts'
import type { LeaseKeeper } from '../../src/worker/lease.ts'
import { roster } from '../../src/worker/roster.ts'
import type { LiveRun, Roster } from '../../src/worker/roster.ts'
import { until } from '../support/until.ts'

const START = 1_000_000
const LEASE = 30_000

interface Bench extends AsyncDisposable {
  readonly clock: ManualClock
  readonly live: Roster
  readonly keeper: LeaseKeeper
  /** The ids that each renewal named. */
  readonly renewals: readonly (readonly string[])[]
  /** What the database has; others may take leases out of it. */
  readonly held: Set<string>
  /** While true, renewals do not come back. */
  hangs: boolean
  doubts: number
  add(id: string, change?: Partial<LiveRun>): LiveRun & { readonly reasons: readonly Error[] }
}

function setup(): Bench {
  const clock = manualClock(START)
  const live = roster()
  const renewals: string[][] = []
  const held = new Set<string>()
  const failures: unknown[] = []
  const bench = { hangs: false, doubts: 0 }
  const lane: Lane = {
    ready: () => Promise.resolve(),
    async run<Params, Result>(statement: Statement<never, Result>, params: Params) {
      const runs = runsIn(params)
      if (statement.name === 'renew_leases') renewals.push(runs)
      await until(() => !bench.hangs)
      const left = runs.filter((id) => held.has(id))
      return rowsOf<Result>(
        left.map((id) => ({ job_id: id, run: 1, lease_ends_at: clock.now() + LEASE })),
      )
    },
    transaction: () => Promise.reject(new Error('not used')),
    close: () => Promise.resolve(),
  }
  const keeper = leaseKeeper({
    worker: 'me',
    clock,
    lane,
    roster: live,
    isHeld: () => false,
    doubts: () => bench.doubts,
    onFailure: (error) => failures.push(error),
  })
  const end = keeper.run()
  return Object.assign(bench, {
    clock,
    live,
    keeper,
    renewals,
    held,
    add(id: string, change: Partial<LiveRun> = {}) {
      const reasons: Error[] = []
      const run: LiveRun = {
        id,
        run: 1,
        leaseMs: LEASE,
        leaseEndsAt: clock.now() + LEASE,
        renewAt: clock.now() + LEASE / 3,
        isEnded: false,
        isTold: false,
        abort: (reason) => void reasons.push(reason),
        ...change,
      }
      held.add(id)
      live.add(run)
      keeper.noticed(run)
      return Object.assign(run, { reasons })
    },
    async [Symbol.asyncDispose]() {
      bench.hangs = false
      keeper.stop()
      await end
      expect(failures).toEqual([])
      expect(clock.timers).toBe(0)
    },
  })
}

test('L1: leases that are due at about the same time are renewed in one statement', async () => {
  await using bench = setup()
  bench.add('a')
  bench.clock.advance(500)
  bench.add('b')
  bench.clock.advance(5_000)
  bench.add('c')
  await settled()
  bench.clock.advance(4_500)
  await until(() => bench.renewals.length === 1)
  expect(bench.renewals[0]).toEqual(['a', 'b'])
})

test('clock: after the process was stopped all leases are renewed before any run is told', async () => {
  await using bench = setup()
  const kept = bench.add('kept')
  const taken = bench.add('taken')
  await settled()
  bench.held.delete('taken')
  // Past the end of both: their timers are late, as they are after a SIGCONT.
  bench.doubts += 1
  bench.clock.advance(45_000)
  await until(() => taken.reasons.length === 1)
  expect(bench.renewals[0]).toEqual(['kept', 'taken'])
  expect(kept.reasons).toEqual([])
  expect(kept.leaseEndsAt).toBe(bench.clock.now() + LEASE)
})

test('clock: when the machine slept and no timer is late, the doubt is noticed within a second', async () => {
  await using bench = setup()
  bench.add('a')
  await settled()
  bench.doubts += 1
  bench.clock.advance(1_000)
  await until(() => bench.renewals.length === 1)
})

test('L2: a run that begins while a renewal hangs is told at the end of its own lease', async () => {
  await using bench = setup()
  bench.add('old')
  await settled()
  bench.hangs = true
  bench.clock.advance(10_000)
  await until(() => bench.renewals.length === 1)
  const young = bench.add('young', {
    leaseMs: 5_000,
    leaseEndsAt: bench.clock.now() + 5_000,
    renewAt: bench.clock.now() + 1_700,
  })
  bench.clock.advance(4_899)
  expect(young.reasons).toEqual([])
  bench.clock.advance(1)
  expect(young.reasons).toMatchObject([{ code: 'LEASE_LOST', id: 'young' }])
})

test('L2: a short lease is not told before it ends by more than a tenth of it', async () => {
  await using bench = setup()
  const short = bench.add('short', {
    leaseMs: 50,
    leaseEndsAt: START + 50,
    renewAt: START + 10_000,
  })
  bench.clock.advance(44)
  expect(short.reasons).toEqual([])
  bench.clock.advance(1)
  expect(short.reasons).toHaveLength(1)
})

test('L2: a run whose fate is decided is not aborted any more', async () => {
  await using bench = setup()
  const ended = bench.add('ended', { isEnded: true })
  await settled()
  bench.held.delete('ended')
  bench.clock.advance(10_000)
  await until(() => ended.isTold)
  expect(ended.reasons).toEqual([])
})

/** The keeper has taken notice of what was added. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function runsIn(params: unknown): string[] {
  const { runs }: { runs: string } = JSON.parse(JSON.stringify(params))
  const named: readonly { readonly id: string }[] = JSON.parse(runs)
  return named.map(({ id }) => id)
}

/** The door for rows that a test makes up. */
function rowsOf<Result>(rows: readonly object[]): readonly Result[] {
  return JSON.parse(JSON.stringify(rows))
}
