import { retryDelay } from '../core/backoff.ts'
import { encodeJson } from '../core/json.ts'
import { recordError } from '../core/recorded-error.ts'
import { LeaseLostError, ShutdownError } from '../errors.ts'
import type { Policy } from '../jobs/policy.ts'
import type { Remarks } from './run.ts'
import type { FateRow } from './settle-statements.ts'
import { GiveUp, RetryIn, verdictOf } from './verdict.ts'

/**
 * What becomes of a job after a run: pure decisions, each a row for the settling statement. The
 * table of spec §5, in code. A cancel that was asked meanwhile overrides all but a return; that is
 * decided by the statement, from the row it removes.
 */
export interface RunOfJob {
  readonly id: string
  readonly run: number
  /** Failures before this run. */
  readonly failures: number
  readonly policy: Policy
  readonly remarks: Remarks
}

// Records of ended jobs stay a minute even when nothing is to be kept, so that an enqueue whose
// answer was lost, repeated, finds that it took effect (E2).
const SHORTEST_KEEP = 60_000

/** The handler returned. `result` is encoded already; undefined where the kind declares none. */
export function afterReturn(job: RunOfJob, result: string | undefined): FateRow {
  const { keep } = job.policy
  const { note, attachment } = job.remarks
  // One literal: the ends of runs are many, and what is spread into an object makes it ten times as large.
  return {
    id: job.id,
    run: job.run,
    outcome: 'completed',
    keep_ms: kept(keep.completed).keep_ms,
    note,
    attachment,
    result,
  }
}

/** The handler paused; `carry` is what it left, where that differs from what is stored. */
export function afterPause(
  job: RunOfJob,
  pause: { readonly delayMs: number; readonly carry: string | undefined },
): FateRow {
  return {
    ...runOf(job),
    outcome: 'paused',
    reason: 'pause',
    delay_ms: pause.delayMs,
    ...ifCancelled(job.policy),
    ...carried(pause.carry),
    ...job.remarks,
  }
}

/** The handler threw; `carry` is what it left, where that differs from what is stored. */
export function afterThrow(job: RunOfJob, error: unknown, carry?: string): FateRow {
  const verdict = verdictOf(error)
  if (verdict instanceof GiveUp) return dead(job, 'gave-up', error)
  const failures = job.failures + 1
  if (failures >= job.policy.failures) return dead(job, 'failed', error)
  const delay_ms = verdict instanceof RetryIn ? verdict.delayMs : backoff(job, failures)
  return {
    ...runOf(job),
    outcome: 'retried',
    reason: 'retry',
    failures,
    delay_ms,
    ...ifCancelled(job.policy),
    ...carried(carry),
    ...job.remarks,
    error: encodedError(error),
  }
}

/** The handler threw, and what it left as its carry cannot be stored: the old one stays, both are told (O3). */
export function afterThrowWithout(job: RunOfJob, error: unknown, unencodable: Error): FateRow {
  const message = `${recordError(error).message}; and ${unencodable.message}`
  const both = new AggregateError([error, unencodable], message, { cause: error })
  return { ...afterThrow(job, error), error: encodedError(both) }
}

/** Somebody gave it up: no further run, whatever failures are left. */
export function afterGiveUp(job: RunOfJob, error: unknown): FateRow {
  return dead(job, 'gave-up', error)
}

/** The input or the carry cannot be read, now or ever: no further run would change that. */
export function afterUndecodable(job: RunOfJob, error: unknown): FateRow {
  return dead(job, 'undecodable', error)
}

/** The worker stops, or claimed what it will not run: back to its place, no failure. */
export function afterRelease(
  job: Pick<RunOfJob, 'id' | 'run' | 'policy'> & { readonly remarks?: Remarks },
): FateRow {
  return {
    ...runOf(job),
    outcome: 'released',
    reason: 'release',
    ...ifCancelled(job.policy),
    ...job.remarks,
  }
}

/** The worker went away without a word: a failure, so that a job that kills its process is bounded (L3). */
export function afterLapse(job: RunOfJob & { readonly worker: string }): FateRow {
  const failures = job.failures + 1
  const owner = { ...runOf(job), worker: job.worker, failures }
  const error = encodedError(new LeaseLostError(job.id, job.run))
  if (failures >= job.policy.failures) {
    const keep = { ...kept(job.policy.keep.dead), ...ifCancelled(job.policy) }
    return { ...owner, outcome: 'dead', reason: 'failed', ...keep, error }
  }
  return {
    ...owner,
    outcome: 'stale-recovered',
    reason: 'recover',
    delay_ms: backoff(job, failures),
    ...ifCancelled(job.policy),
    error,
  }
}

/** Whether a rejection means "the worker stops": the shutdown reason itself, in the causes, or an AbortError after it. */
export function isShutdown(error: unknown, reason: unknown): boolean {
  try {
    return reason instanceof ShutdownError && comesFrom(error, reason)
  } catch {
    // A getter or a proxy that throws: whatever it is, it is not ours.
    return false
  }
}

function comesFrom(error: unknown, reason: ShutdownError): boolean {
  let current = error
  for (let depth = 0; depth < 10 && current instanceof Error; depth += 1) {
    if (current === reason || current.name === 'AbortError') return true
    current = current.cause
  }
  return false
}

/** How long the record of an ended job stays, as a member of its fate; kept for ever: no member. */
export function kept(keep: number | null): { keep_ms?: number } {
  return keep === null ? {} : { keep_ms: Math.max(keep, SHORTEST_KEEP) }
}

/** An error as the JSON text that is stored of it. */
export function encodedError(error: unknown): string {
  return encodeJson(recordError(error))
}

/** Instants are whole milliseconds everywhere. */
function backoff(job: RunOfJob, failures: number): number {
  return Math.floor(retryDelay(job.policy.backoff, job.id, failures))
}

function dead(
  job: RunOfJob,
  reason: 'failed' | 'gave-up' | 'undecodable',
  error: unknown,
): FateRow {
  return {
    ...runOf(job),
    outcome: 'dead',
    reason,
    failures: job.failures + 1,
    ...kept(job.policy.keep.dead),
    ...ifCancelled(job.policy),
    ...job.remarks,
    error: encodedError(error),
  }
}

function runOf({ id, run }: Pick<RunOfJob, 'id' | 'run'>): Pick<FateRow, 'id' | 'run'> {
  return { id, run }
}

function carried(carry: string | undefined): { carry?: string } {
  return carry === undefined ? {} : { carry }
}

function ifCancelled({ keep }: Policy): { cancelled_keep_ms?: number } {
  const { keep_ms } = kept(keep.cancelled)
  return keep_ms === undefined ? {} : { cancelled_keep_ms: keep_ms }
}
