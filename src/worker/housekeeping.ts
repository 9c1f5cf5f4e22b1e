import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { halving } from '../database/halving.ts'
import { decodePolicy } from '../jobs/policy.ts'
import { pruneThrottles } from '../jobs/key-statements.ts'
import { expiredJobs, expireJobs, pruneJobs } from '../jobs/retention-statements.ts'
import { kept } from './fate.ts'
import { journalTrim } from './journal-trim.ts'
import { forgetRollups } from './rollups.ts'

/**
 * What must be done now and then by somebody, and by any worker: ending jobs that expired before
 * they ran, removing records and throttle windows whose time is over, and shortening long journals. In
 * batches, so that no pass holds anything long.
 */
export interface Housekeeper {
  run(): Promise<void>
  /** One pass now. */
  sweep(): Promise<void>
  stop(): void
}

export interface HousekeeperOptions {
  readonly clock: Clock
  readonly lane: Lane
  readonly events?: JobEvents | undefined
  readonly everyMs: number
  /** Work of a domain that the worker does not know. */
  readonly sequenceStreams?: ((isStopped: () => boolean) => Promise<void>) | undefined
  readonly onFailure: (error: unknown) => void
}

const BATCH = 1_000
// Windows that are over are in nobody's way: they are removed in every tenth pass only.
const PASSES_TO_WINDOWS = 10

export function housekeeper(options: HousekeeperOptions): Housekeeper {
  const { clock, lane, everyMs } = options
  const alarm = bell(clock)
  const trim = journalTrim(lane)
  let stopped = false
  let passes = 0

  async function run(): Promise<void> {
    while (!stopped) {
      await sweep().catch(options.onFailure)
      await alarm.wait(everyMs)
    }
  }

  async function sweep(): Promise<void> {
    await untilShort(expire)
    await untilShort(prune)
    await untilShort(() => trim.batch(BATCH))
    if (passes % PASSES_TO_WINDOWS === 0) await untilShort(pruneWindows)
    await untilShort(() => forgetRollups(lane, clock, BATCH))
    if (!stopped) await options.sequenceStreams?.(() => stopped)
    passes += 1
  }

  async function untilShort(batch: () => Promise<number>): Promise<void> {
    let done = BATCH
    while (done >= BATCH && !stopped) done = await batch()
  }

  async function expire(): Promise<number> {
    const expired = await lane.run(expiredJobs, { most: BATCH })
    const jobs = expired.map(({ job_id, options: stamped }) => ({
      id: job_id,
      ...kept(decodePolicy(stamped).keep.dead),
    }))
    let ended = 0
    await halving(
      jobs,
      async (some) => {
        const rows = await lane.run(expireJobs, { jobs: JSON.stringify(some) })
        ended += rows.length
        for (const { job_id: id, ...job } of rows) options.events?.tell('dead', { id, ...job })
      },
      (_job, error) => options.onFailure(error),
    )
    return ended
  }

  async function prune(): Promise<number> {
    const [row] = await lane.run(pruneJobs, { most: BATCH })
    return row?.pruned ?? 0
  }

  async function pruneWindows(): Promise<number> {
    const [row] = await lane.run(pruneThrottles, { most: BATCH })
    return row?.pruned ?? 0
  }

  return {
    run,
    sweep,
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}
