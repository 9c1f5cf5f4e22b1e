import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import type { WakeHint } from '../database/hint.ts'
import { CancelledError } from '../errors.ts'
import { cancelledRuns } from './cancel-statements.ts'
import type { LiveRun, Roster } from './roster.ts'

/**
 * Tells runs that somebody cancelled them (X1). A hint names the worker; it then asks for the cancels
 * of its runs, and whether all of its leases are still there: by force they are taken. Without a
 * listener it asks each second while it has runs, with one each ten seconds, since hints may be lost.
 */
export interface CancelWatch {
  /** Watches until `stop`. */
  run(): Promise<void>
  hear(hint: WakeHint): void
  /** A run began: a cancel of it may have been heard of before. */
  noticed(run: LiveRun): void
  stop(): void
}

export interface CancelWatchOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly roster: Roster
  readonly isListening: () => boolean
  /** Looks which leases are still there, and tells the runs of the others. */
  readonly checkLeases: () => Promise<void>
  /** Told of failures that pass; the next look comes by itself. */
  readonly onFailure: (error: unknown) => void
}

const TICK = 1_000
const BLIND_PAUSE = 1_000
const LISTENING_PAUSE = 10_000
// A run whose claim is under way when the hint comes is not in the roster yet.
const AGAIN_AFTER_HINT = 500

export function cancelWatch(options: CancelWatchOptions): CancelWatch {
  const { worker, clock, lane, roster } = options
  const alarm = bell(clock)
  let stopped = false
  let isTold = false
  let isIdle = false
  let lookedAt = clock.now()
  let againAt = Number.POSITIVE_INFINITY
  // As the last look found them, so that it is never more than this worker holds.
  let asked: ReadonlyMap<string, CancelledError> = new Map()

  async function run(): Promise<void> {
    while (!stopped) {
      await alarm.wait(pause())
      if (!stopped && isDue()) await look().catch(options.onFailure)
    }
  }

  /** Ticks while there are runs: whether anybody listens may change at any time. */
  function pause(): number {
    isIdle = roster.size === 0 && againAt === Number.POSITIVE_INFINITY
    return isIdle ? FOREVER : Math.min(TICK, againAt - clock.now())
  }

  function isDue(): boolean {
    if (isTold || clock.now() >= againAt) return true
    const every = options.isListening() ? LISTENING_PAUSE : BLIND_PAUSE
    return roster.size > 0 && clock.now() - lookedAt >= every
  }

  async function look(): Promise<void> {
    againAt = isTold ? clock.now() + AGAIN_AFTER_HINT : Number.POSITIVE_INFINITY
    isTold = false
    lookedAt = clock.now()
    const rows = await lane.run(cancelledRuns, { worker })
    asked = new Map(
      rows.map((row) => [keyOf(row.job_id, row.run), new CancelledError(row.job_id, row.by)]),
    )
    for (const each of roster.all()) tell(each)
    if (roster.size > 0) await options.checkLeases()
  }

  function tell(each: LiveRun): void {
    const reason = asked.get(keyOf(each.id, each.run))
    if (reason !== undefined && !each.isEnded) each.abort(reason)
  }

  return {
    run,
    hear(hint) {
      if (hint.type !== 'resync' && !(hint.type === 'cancel' && hint.worker === worker)) return
      isTold = true
      alarm.ring()
    },
    noticed(each) {
      tell(each)
      if (!isIdle) return
      lookedAt = clock.now()
      alarm.ring()
    },
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

function keyOf(id: string, run: number): string {
  return `${id} ${run}`
}

const FOREVER = 2 ** 31 - 1
