import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import { defineJob } from '../../src/index.ts'
import { claimer } from '../../src/worker/claim.ts'
import { marks } from '../../src/worker/marks.ts'
import { lanesOf } from '../../src/worker/probes.ts'
import { slots } from '../../src/worker/slots.ts'
import { strays } from '../../src/worker/strays.ts'
import { executorOn } from '../support/executor.ts'
import { NOON, setup } from '../support/mill.ts'

const visit = defineJob('visit')

test.each([
  [0, 0, 1],
  [50, 0, 1],
  [60, 59, 0],
  [60, 60, 1],
  [700.4, 700, 0],
  [700.4, 701, 1],
])(
  'replays 15: with a clock that may be %d ms ahead, %d ms after a job is due a claim brings %d',
  async (errorMs, after, count) => {
    await using t = await setup()
    await t.mill.enqueue(visit, undefined, { at: new Date(NOON) })
    const clock = manualClock(NOON + after)
    await using executor = await executorOn(t, clock)
    const [claimLane, lookLane] = [executor.lane('claim'), executor.lane('maintenance')]
    await t.sql.query('update ready set due_at = $1', [new Date(NOON)])
    const roster = { has: () => false }
    const claims = claimer({
      worker: 'w',
      clock,
      errorMs: () => errorMs,
      space: {
        queues: ['default'],
        lanes: lanesOf([{ name: 'visit', concurrency: null }]),
        queueCaps: new Map(),
      },
      slots: slots({ concurrency: 10, kinds: new Map(), queueCaps: new Map() }),
      marks: marks(),
      strays: strays({ worker: 'w', clock, lane: lookLane, roster, seekMs: 1, hintUntil: String }),
      ratio: null,
      queues: { isPaused: () => false, ready: () => Promise.resolve() },
      claimLane,
      lookLane,
    })
    const { jobs } = await claims.claim()
    expect(jobs).toHaveLength(count)
    for (const job of jobs)
      expect(job.lease_ends_at).toBeLessThanOrEqual(clock.now() + job.lease_ms)
  },
)
