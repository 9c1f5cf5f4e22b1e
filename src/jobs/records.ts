import { dateFrom } from '../core/instant-text.ts'
import { decodeJson } from '../core/json.ts'
import type { RecordedError } from '../core/recorded-error.ts'
import type { DeadReason, Ended, JobFacts, JobRecord, PendingJob, Progress } from './job.ts'
import type { CarryOf, InputOf, JobKind, ResultOf } from './kind.ts'
import { decodePolicy } from './policy.ts'
import type { JobRow } from './inspect-statements.ts'

/** Rows as records. What the database stored of a job is taken at its word: the kind says its types. */
export function recordOf<K extends JobKind>(row: JobRow): JobRecord<K> {
  const facts = factsOf<K>(row)
  switch (row.state) {
    case 'pending':
      return {
        ...facts,
        state: 'pending',
        waiting: waitingOf(row),
        dueAt: dateOf(row.due_at),
        expiresAt: dateOrNull(row.expires_at),
      }
    case 'running':
      return {
        ...facts,
        state: 'running',
        worker: row.worker ?? '',
        startedAt: dateOf(row.started_at),
        leaseEndsAt: dateOf(row.lease_ends_at),
        cancelRequestedAt: dateOrNull(row.cancel_requested_at),
        progress: progressOf(row),
      }
    case 'completed':
      return {
        ...facts,
        ...endOf(row),
        state: 'completed',
        result: documentOf<ResultOf<K>>(row.result),
      }
    case 'dead':
      return {
        ...facts,
        ...endOf(row),
        state: 'dead',
        reason: reasonOf(row.reason),
        error: errorOf(row.error),
      }
    case 'cancelled':
      return { ...facts, ...endOf(row), state: 'cancelled', by: row.decided_by, why: row.why }
  }
}

/** A stored error as it was recorded. */
export function errorOf(text: string | null): RecordedError | null {
  return text === null ? null : documentOf<RecordedError>(text)
}

/** The door where stored documents come in; there was none: undefined. */
export function documentOf<T>(text: string | null): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door itself
  return (text === null ? undefined : decodeJson(text)) as T
}

/** Why a job is dead; what a later release may add reads as a failure. */
export function reasonOf(reason: string | null): DeadReason {
  switch (reason) {
    case 'gave-up':
    case 'expired':
    case 'undecodable':
      return reason
    default:
      return 'failed'
  }
}

export function dateOrNull(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : dateFrom(milliseconds)
}

export function dateOf(milliseconds: number | null): Date {
  return dateFrom(milliseconds ?? 0)
}

function factsOf<K extends JobKind>(row: JobRow): JobFacts<K> {
  return {
    id: row.id,
    kind: row.kind,
    queue: row.queue,
    priority: row.priority,
    dedupKey: row.dedup_key,
    input: documentOf<InputOf<K>>(row.payload),
    carry: row.carry === null ? null : documentOf<CarryOf<K>>(row.carry),
    run: row.run,
    failures: row.failures,
    failureLimit: decodePolicy(row.options).failures,
    createdAt: dateOf(row.created_at),
    schedule: row.schedule === null ? null : { name: row.schedule, boundary: dateOf(row.boundary) },
  }
}

function progressOf({ progress_done: done, progress_total: total }: JobRow): Progress | null {
  return done === null ? null : { done, total }
}

function endOf(row: JobRow): Ended {
  return {
    finishedAt: dateOf(row.finished_at),
    startedAt: dateOrNull(row.started_at),
    worker: row.worker,
    note: row.note,
    attachment: row.attachment === null ? null : decodeJson(row.attachment),
    keptUntil: dateOrNull(row.prune_at),
  }
}

function waitingOf(row: JobRow): PendingJob['waiting'] {
  switch (row.reason) {
    case 'pause':
      return 'paused'
    case 'retry':
    case 'recover':
      return 'retrying'
    default:
      return row.is_due ? 'due' : 'scheduled'
  }
}
