import type { Clock } from '../core/clock.ts'
import { encodeJson } from '../core/json.ts'
import { LeaseLostError, RunTimeoutError } from '../errors.ts'
import { readInput } from '../jobs/input.ts'
import { definitionOf } from '../jobs/kind.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { afterRelease, afterReturn, afterThrow, afterUndecodable, isShutdown } from './fate.ts'
import type { RunOfJob } from './fate.ts'
import type { HandledKind } from './handlers.ts'
import type { LiveRun } from './roster.ts'
import { runOf } from './run.ts'
import type { FateRow } from './settle-statements.ts'

/**
 * One run, from a claimed row to its fate. The handler is called once; what ends first decides: its
 * return or rejection, the job's timeout, or the worker letting go of it. Whatever the handler does
 * after that is void.
 */
export interface ActiveRun extends LiveRun {
  readonly kind: string
  readonly queue: string
  /** What became of it; null when its lease was lost and there is nothing to record. */
  readonly fate: Promise<FateRow | null>
  /** Tells the handler through its signal; the first reason stays. */
  abort(reason: Error): void
  /** Hands the job back at once, whatever the handler is doing. */
  release(): void
  /** Its fate in place of one that cannot be stored: a failure that says why. */
  unstorable(error: unknown): FateRow
}

export function startRun(row: ClaimedRow, handled: HandledKind, clock: Clock): ActiveRun {
  const job: RunOfJob = {
    id: row.job_id,
    run: row.run,
    failures: row.failures,
    policy: decodePolicy(row.options),
    remarks: {},
  }
  const { timeoutMs } = job.policy
  const deadline = timeoutMs === null ? null : clock.now() + timeoutMs
  const stop = stopSwitch()
  const decision = firstDecision()

  const cancelTimeout =
    timeoutMs === null
      ? undefined
      : clock.after(timeoutMs, () => {
          const error = new RunTimeoutError(job.id, timeoutMs)
          decision.make(afterThrow(job, error))
          stop.abort(error)
        })

  const run = runOf({
    id: job.id,
    kind: row.kind,
    queue: row.queue,
    number: job.run,
    failures: job.failures,
    deadline,
    remarks: job.remarks,
    signal: stop.signal,
  })

  async function perform(): Promise<FateRow | null> {
    let input: unknown
    try {
      input = await inputOf(row, handled)
    } catch (error) {
      return afterUndecodable(job, error)
    }
    // A schema may take its time: by now the job may be another worker's, and must not begin here.
    const reason = stop.reason()
    if (reason !== undefined) return reason instanceof LeaseLostError ? null : afterRelease(job)
    try {
      const value: unknown = await handled.handler(input, run)
      if (value instanceof Error) throw value
      const keepsResult = definitionOf(handled.kind).keepsResult
      return afterReturn(job, keepsResult ? encodedResult(value) : undefined)
    } catch (error) {
      if (isShutdown(error, stop.reason())) return afterRelease(job)
      // The lease is gone, or was about to be: recovery has counted or will count this run.
      if (stop.reason() instanceof LeaseLostError) return null
      return afterThrow(job, error)
    }
  }

  void perform().then(decision.make)

  return {
    id: job.id,
    run: job.run,
    kind: row.kind,
    queue: row.queue,
    leaseMs: row.lease_ms,
    leaseEndsAt: row.lease_ends_at,
    renewAt: row.lease_ends_at - (row.lease_ms * 2) / 3,
    isEnded: false,
    isTold: false,
    fate: decision.made.finally(() => cancelTimeout?.()),
    abort: stop.abort,
    release: () => decision.make(afterRelease(job)),
    unstorable: (cause) => afterThrow({ ...job, remarks: {} }, unstorable(cause)),
  }
}

function inputOf(row: ClaimedRow, handled: HandledKind): unknown {
  if (row.payload === null) {
    throw new SyntaxError(`the payload of job ${row.job_id} is missing from the table jobs`)
  }
  return readInput(definitionOf(handled.kind), row.payload)
}

function encodedResult(value: unknown): string {
  try {
    return encodeJson(value)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`the result cannot be stored: ${why}`, { cause })
  }
}

function unstorable(cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new TypeError(`what this run left could not be stored: ${why}`, { cause })
}

interface StopSwitch {
  readonly abort: (reason: Error) => void
  readonly reason: () => Error | undefined
  /** The signal, made when first asked for: most handlers never look at it. */
  readonly signal: () => AbortSignal
}

function stopSwitch(): StopSwitch {
  let controller: AbortController | undefined
  let reason: Error | undefined
  return {
    abort(why) {
      reason ??= why
      controller?.abort(reason)
    },
    reason: () => reason,
    signal() {
      if (controller === undefined) {
        controller = new AbortController()
        if (reason !== undefined) controller.abort(reason)
      }
      return controller.signal
    },
  }
}

interface Decision {
  readonly made: Promise<FateRow | null>
  readonly make: (fate: FateRow | null) => void
}

function firstDecision(): Decision {
  let decide: Decision['make'] | undefined
  const made = new Promise<FateRow | null>((resolve) => {
    decide = resolve
  })
  return { made, make: (fate) => decide?.(fate) }
}
