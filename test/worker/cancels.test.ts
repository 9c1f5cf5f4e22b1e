import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import { cancelWatch } from '../../src/worker/cancels.ts'
import type { CancelWatch } from '../../src/worker/cancels.ts'
import { roster } from '../../src/worker/roster.ts'
import type { LiveRun, Roster } from '../../src/worker/roster.ts'
import { executorOn } from '../support/executor.ts'
import { insertLease } from '../support/leases.ts'
import { beforeEach } from '../support/lane.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const worker = 'here:1:worker'

interface Bench {
  readonly watch: CancelWatch
  readonly live: Roster
  readonly clock: ReturnType<typeof manualClock>
  readonly counts: { looks: number; checks: number }
}

/** A watch on a clock that stands still, with what it did counted. */
async function watching(
  t: Setup,
  options: { lane: Lane; isListening: () => boolean },
): Promise<Bench & AsyncDisposable> {
  const clock = manualClock(NOON)
  const live = roster()
  const counts = { looks: 0, checks: 0 }
  const watch = cancelWatch({
    worker,
    clock,
    roster: live,
    isListening: options.isListening,
    lane: beforeEach(options.lane, async () => {
      counts.looks += 1
    }),
    checkLeases: async () => {
      counts.checks += 1
    },
    onFailure: (error) => {
      throw error
    },
  })
  const loop = watch.run()
  return {
    watch,
    live,
    clock,
    counts,
    async [Symbol.asyncDispose]() {
      watch.stop()
      await loop
      expect(clock.timers).toBe(0)
    },
  }
}

function liveRun(id: string, reasons: Error[] = []): LiveRun {
  return {
    id,
    run: 1,
    leaseMs: 60_000,
    leaseEndsAt: NOON + 60_000,
    renewAt: NOON + 20_000,
    isEnded: false,
    isTold: false,
    abort: (reason) => reasons.push(reason),
  }
}

test('X1: a cancel that was heard of before its run began reaches the run when it begins', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const lane = statements.lane('renew')
  await using bench = await watching(t, { lane, isListening: () => true })
  const id = await insertLease(t.sql, { kind: 'visit', worker })
  await t.mill.jobs.cancel(id, { by: 'ada' })

  bench.watch.hear({ type: 'cancel', worker })
  // It has looked once it sleeps until the second look.
  await until(() => bench.counts.looks === 1 && bench.clock.timers === 1)
  const reasons: Error[] = []
  const run = liveRun(id, reasons)
  bench.live.add(run)
  bench.watch.noticed(run)
  expect(reasons[0]).toMatchObject({ code: 'CANCELLED', id, by: 'ada' })
})

test('X1: it looks again half a second after a hint, and then not before the next', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  await using bench = await watching(t, { lane: statements.lane('renew'), isListening: () => true })
  const { watch, clock, counts } = bench
  watch.hear({ type: 'cancel', worker: 'somebody else' })
  watch.hear({ type: 'due', queue: 'default', dueAt: NOON })
  watch.hear({ type: 'cancel', worker })
  await until(() => counts.looks === 1 && clock.timers === 1)
  clock.advance(499)
  expect(counts.looks).toBe(1)
  clock.advance(1)
  await until(() => counts.looks === 2)
  clock.advance(60_000)
  expect(counts.looks).toBe(2)
})

test.each([
  ['each second without a listener', false, 1_000],
  ['each ten seconds with one', true, 10_000],
])('X1: while there are runs it asks %s', async (_how, isListening, every) => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const lane = statements.lane('renew')
  await using bench = await watching(t, { lane, isListening: () => isListening })
  const { watch, live, clock, counts } = bench
  const run = liveRun('01ARZ3NDEKTSV4RRFFQ69G5FAV')
  live.add(run)
  await until(() => clock.timers === 1)
  watch.noticed(run)
  for (let looks = 1; looks <= 3; looks += 1) {
    for (let passed = 0; passed < every; passed += 1_000) {
      expect(counts.looks).toBe(looks - 1)
      await until(() => clock.timers === 1)
      clock.advance(1_000)
    }
    await until(() => counts.checks === looks)
  }
  live.remove(run)
})
