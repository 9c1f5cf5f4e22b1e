import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import { instantText } from '../core/instant-text.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { halving } from '../database/halving.ts'
import { decodePolicy } from '../jobs/policy.ts'
import { afterLapse, afterRelease } from './fate.ts'
import { lapsedLeases } from './lease-statements.ts'
import type { LapsedRow } from './lease-statements.ts'
import { markText } from './marks.ts'
import type { Roster } from './roster.ts'
import { recoverRuns } from './settle-statements.ts'
import type { FateRow } from './settle-statements.ts'
import type { Strays } from './strays.ts'
import { tellSettled } from './told-runs.ts'

/**
 * Takes jobs from workers that went away without a word (L3). Any worker does it, at its start and
 * on a timer: read what lapsed, decide, move with the owner and "still lapsed" repeated in the
 * statement. What lives here is never touched; what this worker holds by name and does not run came
 * from a lost answer, and goes back without a failure.
 */
export interface Recoverer {
  run(): Promise<void>
  /** One pass now. Gives the instant of the next lease to lapse that it saw, or null. */
  sweep(): Promise<number | null>
  /** Leases are shorter than was known: the next look comes sooner. */
  hasten(): void
  stop(): void
}

export interface RecovererOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly roster: Roster
  readonly strays: Strays
  /** Look at least this often, in milliseconds: no lease should begin and lapse between two looks. */
  readonly everyMs: () => number
  /** Grows when the clock was out of step: then nothing is recovered for one renewal period. */
  readonly doubts: () => number
  readonly hintUntil: () => string
  readonly events?: JobEvents | undefined
  readonly onFailure: (error: unknown) => void
}

/** Lapsed for less than this may still be renewed or settled by its owner. */
export const GRACE = 1_000
const MOST = 500
const FAILED_PAUSE = 1_000
const HOLD_APART = 3
// No statement of ours may still be under way after this, so no lease appears that ended before it.
const COMMIT_LIMIT = 60_000

export function recoverer(options: RecovererOptions): Recoverer {
  const { worker, clock, lane, roster, strays } = options
  const alarm = bell(clock)
  let stopped = false
  let doubtsSeen = options.doubts()
  let holdsAgainAt = Number.NEGATIVE_INFINITY
  let mark = Number.NEGATIVE_INFINITY

  async function run(): Promise<void> {
    while (!stopped) await alarm.wait(await pass())
  }

  /** One pass, and how long to wait after it. */
  async function pass(): Promise<number> {
    const everyMs = options.everyMs()
    if (mustHoldOff()) return everyMs
    try {
      const next = await sweep(everyMs)
      if (next === null) return everyMs
      return Math.max(0, Math.min(everyMs, next + GRACE + 1 - clock.now()))
    } catch (error) {
      options.onFailure(error)
      return FAILED_PAUSE
    }
  }

  /**
   * After the clock was out of step the others of this machine may not have renewed yet. Not again
   * soon after: a process whose handlers block it for seconds is in doubt all the time.
   */
  function mustHoldOff(): boolean {
    if (options.doubts() === doubtsSeen) return false
    doubtsSeen = options.doubts()
    if (clock.now() < holdsAgainAt) return false
    holdsAgainAt = clock.now() + HOLD_APART * options.everyMs()
    return true
  }

  async function sweep(everyMs: number): Promise<number | null> {
    for (;;) {
      const now = clock.now()
      const until = now + everyMs
      const rows = await lane.run(lapsedLeases, {
        mark: markText(mark),
        until: instantText(until),
        most: MOST,
      })
      // The clock may have been set by the look itself.
      if (mustHoldOff()) return null
      const lapsed = rows.filter((row) => row.lease_ends_at < now - GRACE)
      const fates = lapsed.flatMap((row) => fateOf(row))
      const moved = fates.length === 0 ? 0 : await recover(fates, now)
      if (rows.length === MOST && moved > 0 && !stopped) continue
      mark = nextMark(rows, now)
      return soonest(rows.slice(lapsed.length))
    }
  }

  async function recover(fates: readonly FateRow[], now: number): Promise<number> {
    let moved = 0
    await halving(
      fates,
      async (some) => {
        const rows = await lane.run(recoverRuns, {
          fates: JSON.stringify(some),
          recovered_by: worker,
          lapsed_before: instantText(now - GRACE),
          hint_until: options.hintUntil(),
        })
        moved += rows.length
        tellSettled(options.events, rows)
      },
      (_fate, error) => options.onFailure(error),
    )
    return moved
  }

  function fateOf(row: LapsedRow): readonly FateRow[] {
    const lease = { id: row.job_id, run: row.run, worker: row.worker }
    const policy = decodePolicy(row.options)
    if (row.worker === worker) {
      if (roster.has(row.job_id, row.run) || strays.isUnderWay(row.started_at)) return []
      return [{ ...afterRelease({ ...lease, policy }), worker }]
    }
    return [afterLapse({ ...lease, failures: row.failures, policy, remarks: {} })]
  }

  return {
    run,
    sweep: () => sweep(options.everyMs()),
    hasten: alarm.ring,
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

/** Where the next walk may begin: nothing before it can lapse any more, but for what is still there. */
function nextMark(rows: readonly LapsedRow[], now: number): number {
  return Math.min(now - COMMIT_LIMIT, rows[0]?.lease_ends_at ?? now)
}

function soonest(rows: readonly LapsedRow[]): number | null {
  return rows[0]?.lease_ends_at ?? null
}
