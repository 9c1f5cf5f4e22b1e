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
 * table of spec §5, in code.
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
  return {
    id: job.id,
    run: job.run,
    outcome: 'completed',
    ...kept(job.policy.keep.completed),
    ...job.remarks,
    ...(result === undefined ? {} : { result }),
  }
}

/** The handler threw. */
export function afterThrow(job: RunOfJob, error: unknown): FateRow {
  const verdict = verdictOf(error)
  if (verdict instanceof GiveUp) return dead(job, 'gave-up', error)
  const failures = job.failures + 1
  if (failures >= job.policy.failures) return dead(job, 'failed', error)
  const delay_ms = verdict instanceof RetryIn ? verdict.delayMs : backoff(job, failures)
  return {
    id: job.id,
    run: job.run,
    outcome: 'retried',
    reason: 'retry',
    failures,
    delay_ms,
    ...job.remarks,
    error: encodedError(error),
  }
}

/** The input cannot be read, now or ever: no further run would change that. */
export function afterUndecodable(job: RunOfJob, error: unknown): FateRow {
  return dead(job, 'undecodable', error)
}

/** The worker stops, or claimed what it will not run: back to its place, no failure. */
export function afterRelease(job: {
  readonly id: string
  readonly run: number
  readonly remarks?: Remarks
}): FateRow {
  return { id: job.id, run: job.run, outcome: 'released', reason: 'release', ...job.remarks }
}

/** The worker went away without a word: a failure, so that a job that kills its process is bounded (L3). */
export function afterLapse(job: RunOfJob & { readonly worker: string }): FateRow {
  const failures = job.failures + 1
  const lost = encodedError(new LeaseLostError(job.id, job.run))
  const owner = { id: job.id, run: job.run, worker: job.worker }
  if (failures >= job.policy.failures) {
    return {
      ...owner,
      outcome: 'dead',
      reason: 'failed',
      failures,
      ...kept(job.policy.keep.dead),
      error: lost,
    }
  }
  return {
    ...owner,
    outcome: 'stale-recovered',
    reason: 'recover',
    failures,
    delay_ms: backoff(job, failures),
    error: lost,
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
    id: job.id,
    run: job.run,
    outcome: 'dead',
    reason,
    failures: job.failures + 1,
    ...kept(job.policy.keep.dead),
    ...job.remarks,
    error: encodedError(error),
  }
}
