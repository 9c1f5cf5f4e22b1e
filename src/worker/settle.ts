import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import { batcher } from '../database/batcher.ts'
import type { Waiting } from '../database/batcher.ts'
import type { Lane } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import type { DatabaseError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import { askRow } from '../jobs/ask-row.ts'
import { bytesOf as askBytes } from '../jobs/insert.ts'
import { completeAlikeRuns, completeRuns } from './complete-statements.ts'
import { completionsAlike, isPlain } from './completions.ts'
import { settledRuns, settleRuns } from './settle-statements.ts'
import type {
  FateRow,
  FollowUpRow,
  MovedRow,
  SettledAnswer,
  SettledRow,
} from './settle-statements.ts'
import { settledRows } from './settled-rows.ts'
import { tellFollowUps, tellSettled } from './told-runs.ts'

/**
 * Writes what became of runs: everything that ended while the last statement was in flight goes in
 * the next one. A failure that passes is repeated until the leases end; after a commit of unknown
 * outcome the records are looked up first, so that a run that did settle is never told it lost (O1).
 */
export interface Settler {
  /** True when the fate was applied, false when the lease was not there any more: nothing was written. */
  settle(settlement: Settlement): Promise<boolean>
  /** The same, answered by what waits itself: no promise for each run. */
  put(settlement: Waiting<Settlement, boolean>): void
  /** Runs handed in and not written yet. */
  readonly size: number
  /** Resolves when everything handed in is written or given up. */
  idle(): Promise<void>
}

export interface Settlement {
  readonly fate: FateRow
  /** Whose run it was. */
  readonly of: { readonly kind: string; readonly queue: string }
  /** Jobs to enqueue if it applies; those with a key go with a settlement of their own. */
  readonly followUps?: readonly Ask[] | undefined
  /** Until when a failed statement is worth repeating: later and later, while the run is renewed. */
  readonly leaseEndsAt: () => number
}

export interface SettlerOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly hintUntil: () => string
  /** Aborts when nothing is worth waiting for any more: one last try, then the leases are left to lapse. */
  readonly signal: AbortSignal
  /** Told of what was settled, once it is committed; a lost answer tells nothing. */
  readonly onSettled?: ((rows: readonly SettledRow[]) => void) | undefined
  /** Where the same is told to whoever listens, with the jobs that followed. */
  readonly events?: JobEvents | undefined
  /** Told of failures that are repeated. */
  readonly onFailure: (error: unknown) => void
}

export function settler(options: SettlerOptions): Settler {
  const { worker, clock, lane } = options

  async function flush(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const applied = new Set<FateRow>()
    let left = settlements
    const until = (): number => Math.max(...settlements.map((each) => each.leaseEndsAt()))

    function record(rows: readonly MovedRow[]): void {
      const named = namedBy(rows, left)
      for (const { fate } of named) applied.add(fate)
      left = named === left ? [] : left.filter(({ fate }) => !applied.has(fate))
    }

    const { signal, onFailure } = options
    await repeat({ clock, until, passes, signal, onFailure }, async (isUncertain) => {
      if (isUncertain) record(await lookUp(left))
      if (left.length === 0) return
      const [answer] = await write(left)
      const settled = settledRows(answer, left, worker)
      record(settled)
      options.onSettled?.(settled)
      tellSettled(options.events, settled)
      tellFollowUps(options.events, settlements, settled)
      // An earlier try that was still under way at the first look has ended: this one waited for it.
      if (isUncertain && left.length > 0) record(await lookUp(left))
    })
    return settlements.map(({ fate }) => applied.has(fate))
  }

  function write(some: readonly Settlement[]): Promise<readonly SettledAnswer[]> {
    const arePlain = some.every(isPlain)
    const alike = arePlain ? completionsAlike(some) : null
    if (alike !== null) return lane.run(completeAlikeRuns, { ...alike, worker })
    const fates = JSON.stringify(some.map(({ fate }) => fate))
    if (arePlain) return lane.run(completeRuns, { fates, worker })
    const follow_ups = followUpRows(some)
    return lane.run(settleRuns, { fates, follow_ups, worker, hint_until: options.hintUntil() })
  }

  function lookUp(some: readonly Settlement[]): Promise<readonly MovedRow[]> {
    const runs = some.map(({ fate: { id, run } }) => ({ id, run }))
    return lane.run(settledRuns, { runs: JSON.stringify(runs), worker })
  }

  const batches = batcher<Settlement, boolean>({ flush, bytes: bytesOf })
  return {
    settle: batches.add,
    put: batches.put,
    get size() {
      return batches.size
    },
    idle: batches.idle,
  }
}

// Without an SQLSTATE nothing says that the statement is at fault: the connection was lost, or was
// somebody else's for too long (the embedded database has one).
export function passes({ retryable, sqlstate }: DatabaseError): boolean {
  return retryable || sqlstate === null
}

/** Those of the settlements that the rows name: nearly always all of them, which their number says. */
function namedBy(
  rows: readonly MovedRow[],
  settlements: readonly Settlement[],
): readonly Settlement[] {
  if (rows.length === settlements.length) return settlements
  const named = new Set(rows.map(({ job_id, run }) => `${run} ${job_id}`))
  return settlements.filter(({ fate }) => named.has(`${fate.run} ${fate.id}`))
}

function followUpRows(settlements: readonly Settlement[]): string {
  const rows = settlements.flatMap(({ fate, followUps = [] }) =>
    followUps.map((ask): FollowUpRow => ({
      ...askRow(ask),
      after_id: fate.id,
      after_run: fate.run,
    })),
  )
  return JSON.stringify(rows)
}

// Texts dominate; the rest of a row is about 100 bytes.
function bytesOf({ fate, followUps = [] }: Settlement): number {
  const texts = [fate.note, fate.attachment, fate.result, fate.error, fate.carry]
  const own = texts.reduce((sum, text) => sum + (text?.length ?? 0), 100)
  return followUps.reduce((sum, ask) => sum + askBytes(ask), own)
}
