import type { Clock } from '../core/clock.ts'
import { isId } from '../core/id.ts'
import { dateFrom, instantText } from '../core/instant-text.ts'
import type { Runner } from '../database/executor.ts'
import { UnknownJobError } from '../errors.ts'
import { AHEAD_LIMIT, explainJob } from './explain-statements.ts'
import type { ExplainRow } from './explain-statements.ts'
import { summaryOf } from './explain-text.ts'
import type { JobState } from './job.ts'
import { ALIVE_FOR } from './stats.ts'
import type { Count } from './stats.ts'

/**
 * Why a pending job is not running, from the same predicates as the claim (H3). Workers are known by
 * what they tell of themselves, each half minute: one that was killed counts for up to a minute more,
 * and whoever claims by hand (`mill.claim`) is not known at all.
 */
export type ExplainReason =
  | {
      readonly code: 'not-due'
      readonly dueAt: Date
      readonly because: 'scheduled' | 'retrying' | 'paused'
    }
  | { readonly code: 'queue-paused'; readonly queue: string; readonly since: Date }
  | {
      /** None that lives claims this kind from this queue; `lastSeenAt`: one that did, within a day. */
      readonly code: 'no-worker'
      readonly queue: string
      readonly kind: string
      readonly lastSeenAt: Date | null
    }
  | {
      /** Over all workers that are at the limit. */
      readonly code: 'kind-at-cap'
      readonly kind: string
      readonly running: number
      readonly cap: number
    }
  | {
      readonly code: 'queue-at-cap' | 'worker-full'
      readonly running: number
      readonly cap: number
    }
  | {
      /** Due jobs of better levels, or earlier in its own, and no fewer than there are free slots. */
      readonly code: 'behind'
      readonly ahead: Count
    }
  | {
      /** It waits for the end of another job of its key: `rerun`, or a message of an outbox before it. */
      readonly code: 'key-held'
      readonly dedupKey: string
      readonly by: string
    }
  | {
      /** The message of its key that died first halts the key (`onDead: 'halt'`). */
      readonly code: 'key-halted'
      readonly dedupKey: string
      readonly by: string
    }
  | { readonly code: 'expired'; readonly expiresAt: Date }

export interface ExplainReport {
  readonly id: string
  readonly state: JobState
  /** One sentence for people. */
  readonly summary: string
  /** Empty when a worker may claim it now, and for a job that does not wait. The first is the one to fix. */
  readonly reasons: readonly ExplainReason[]
  readonly at: Date
}

export async function explain(id: string, runner: Runner, clock: Clock): Promise<ExplainReport> {
  if (!isId(id)) throw new UnknownJobError(id)
  const now = clock.now()
  const alive_after = instantText(now - ALIVE_FOR)
  const [row] = await runner.run(explainJob, { id, alive_after, now: instantText(now) })
  if (row === undefined) throw new UnknownJobError(id)
  const reasons = row.state === 'pending' ? reasonsOf(row, now) : []
  return { id, state: row.state, summary: summaryOf(row, reasons), reasons, at: dateFrom(now) }
}

/** In the order in which somebody would have to act: what bars the job itself, its queue, its workers, its place. */
export function reasonsOf(row: ExplainRow, now: number): readonly ExplainReason[] {
  const { expires_at, paused_at, queue } = row
  const itself =
    expires_at !== null && expires_at <= now
      ? [{ code: 'expired', expiresAt: dateFrom(expires_at) } as const]
      : notDue(row, now)
  const paused =
    paused_at === null ? [] : [{ code: 'queue-paused', queue, since: dateFrom(paused_at) } as const]
  return [...itself, ...paused, ...workersOf(row), ...(itself.length > 0 ? [] : behind(row))]
}

function notDue(row: ExplainRow, now: number): readonly ExplainReason[] {
  const { due_at, dedup_key: dedupKey } = row
  if (due_at === null || due_at <= now) return []
  const by = row.held_by ?? row.turn_of
  if (dedupKey !== null && by !== null) {
    return [{ code: row.is_halted ? 'key-halted' : 'key-held', dedupKey, by }]
  }
  // The other has ended: whoever looks next, within a second, makes it due.
  const dueAt = dateFrom(due_at === Number.POSITIVE_INFINITY ? now : due_at)
  return [{ code: 'not-due', dueAt, because: causeOf(row.reason) }]
}

function causeOf(reason: string | null): 'scheduled' | 'retrying' | 'paused' {
  if (reason === 'pause') return 'paused'
  return reason === 'retry' || reason === 'recover' ? 'retrying' : 'scheduled'
}

function workersOf(row: ExplainRow): readonly ExplainReason[] {
  const { queue, kind, last_seen_at: seen } = row
  if (row.alive === 0) {
    return [{ code: 'no-worker', queue, kind, lastSeenAt: seen === null ? null : dateFrom(seen) }]
  }
  if (row.free > 0) return []
  const { kind_running, kind_cap, queue_running, queue_cap, full_running, full_cap } = row
  const limits: readonly ExplainReason[] = [
    { code: 'kind-at-cap', kind, running: kind_running, cap: kind_cap },
    { code: 'queue-at-cap', running: queue_running, cap: queue_cap },
    { code: 'worker-full', running: full_running, cap: full_cap },
  ]
  return limits.filter((limit) => 'cap' in limit && limit.cap > 0)
}

function behind({ better, earlier, free }: ExplainRow): readonly ExplainReason[] {
  const value = better + earlier
  if (value === 0 || value < free) return []
  return [
    { code: 'behind', ahead: { value, exact: better < AHEAD_LIMIT && earlier < AHEAD_LIMIT } },
  ]
}
