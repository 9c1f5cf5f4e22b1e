import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { halving } from '../database/halving.ts'
import { forgetLocks } from '../locks/prune-locks.ts'
import { decodePolicy } from '../jobs/policy.ts'
import { pruneThrottles } from '../jobs/key-statements.ts'
import { expiredJobs, expireJobs, pruneJobs } from '../jobs/retention-statements.ts'
import { kept } from './fate.ts'
import { journalTrim } from './journal-trim.ts'
import { forgetRollups } from './rollups.ts'

/**
 * What must be done now and then by somebody, and by any worker: ending jobs that expired before
 * they ran, removing records, throttle windows and locks whose time is over, and shortening long journals. In
 * batches, so that no pass holds anything long.
 */
export interface Housekeeper {
  run(): Promise<void>
  /** One whole pass now. */
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
// What is over is in nobody's way: where the last look found nothing, the next is five passes later,
// so that an idle worker asks little. Windows, which are few, in every tenth.
const PASSES_TO_RECORDS = 5
const PASSES_TO_WINDOWS = 10

export function housekeeper(options: HousekeeperOptions): Housekeeper {
  const { clock, lane, everyMs } = options
  const alarm = bell(clock)
  const trim = journalTrim(lane)
  let stopped = false
  let passes = 0
  let hadRecords = false

  async function run(): Promise<void> {
    while (!stopped) {
      await pass().catch(options.onFailure)
      await alarm.wait(everyMs)
    }
  }

  async function sweep(): Promise<void> {
    hadRecords = true
    await pass()
  }

  async function pass(): Promise<void> {
    await untilShort(expire)
    if (passes % PASSES_TO_WINDOWS === 0) {
      await untilShort(pruneWindows)
      await untilShort(() => forgetLocks(lane, BATCH))
    }
    if (hadRecords || passes % PASSES_TO_RECORDS === 0) hadRecords = await removeRecords()
    if (!stopped) await options.sequenceStreams?.(() => stopped)
    passes += 1
  }

  async function removeRecords(): Promise<boolean> {
    const pruned = await untilShort(prune)
    const trimmed = await untilShort(() => trim.batch(BATCH))
    const forgotten = await untilShort(() => forgetRollups(lane, clock, BATCH))
    return pruned + trimmed + forgotten > 0
  }

  /** How many there were. */
  async function untilShort(batch: () => Promise<number>): Promise<number> {
    let total = 0
    let done = BATCH
    while (done >= BATCH && !stopped) {
      done = await batch()
      total += done
    }
    return total
  }

  async function expire(): Promise<number> {
    const expired = await lane.run(expiredJobs, { most: BATCH })
    if (expired.length === 0) return 0
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
