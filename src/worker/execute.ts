import type { Clock } from '../core/clock.ts'
import { encodeJson } from '../core/json.ts'
import { LeaseLostError, RunTimeoutError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import { definitionOf } from '../jobs/definition.ts'
import { readInput } from '../jobs/input.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { Policy } from '../jobs/policy.ts'
import type { ClaimedRow } from './claim-statements.ts'
import {
  afterPause,
  afterRelease,
  afterReturn,
  afterThrow,
  afterUndecodable,
  isShutdown,
} from './fate.ts'
import type { RunOfJob } from './fate.ts'
import type { HandledKind } from './handlers.ts'
import type { LiveRun } from './roster.ts'
import { runFor } from './run-for.ts'
import type { RunServices } from './run-for.ts'
import { runState } from './run-state.ts'
import type { RunState } from './run-state.ts'
import type { FateRow } from './settle-statements.ts'
import { stopSwitch } from './stop-switch.ts'

/**
 * One run, from a claimed row to its fate. The handler is called once; what ends first decides: its
 * return or rejection, the job's timeout, or the worker letting go of it. Whatever the handler does
 * after that is void.
 */
export interface ActiveRun extends LiveRun {
  readonly kind: string
  readonly queue: string
  readonly end: Promise<RunEnd>
  /** Tells the handler through its signal; the first reason stays. */
  abort(reason: Error): void
  /** Hands the job back at once, whatever the handler is doing. */
  release(): void
  /** Its fate in place of one that cannot be stored: a failure that says why. */
  unstorable(error: unknown): FateRow
}

/** How a run ended: with a fate to write, settled by itself in a transaction, or without its lease. */
export type RunEnd =
  | { readonly type: 'fate'; readonly fate: FateRow; readonly followUps: readonly Ask[] }
  | { readonly type: 'settled' }
  | { readonly type: 'lost' }

export interface ExecuteContext {
  readonly clock: Clock
  readonly services: RunServices
  /** Dead at this failure, where the job's own limit is higher. */
  readonly failures: number | null
}

export function startRun(
  row: ClaimedRow,
  handled: HandledKind,
  { clock, services, failures }: ExecuteContext,
): ActiveRun {
  const policy = stricter(decodePolicy(row.options), failures)
  const job: RunOfJob = {
    id: row.job_id,
    run: row.run,
    failures: row.failures,
    policy,
    remarks: {},
  }
  const definition = definitionOf(handled.kind)
  const stop = stopSwitch()
  const decision = firstDecision()
  const { timeoutMs } = policy
  const deadline = timeoutMs === null ? null : clock.now() + timeoutMs

  const cancelTimeout =
    timeoutMs === null
      ? undefined
      : clock.after(timeoutMs, () => {
          const error = new RunTimeoutError(job.id, timeoutMs)
          decision.make(fate(afterThrow(job, error)))
          stop.abort(error)
        })

  async function perform(): Promise<RunEnd> {
    let input: unknown
    let state: RunState
    try {
      input = await inputOf(row, handled)
      state = runState(definition, { input, stored: row.carry, remarks: job.remarks })
    } catch (error) {
      return fate(afterUndecodable(job, error))
    }
    // A schema may take its time: by now the job may be another worker's, and must not begin here.
    const reason = stop.reason()
    if (reason !== undefined) {
      return reason instanceof LeaseLostError ? LOST : fate(afterRelease(job))
    }
    const run = runFor({ row, job, handled, state, stop, deadline }, services)
    try {
      const value: unknown = await handled.handler(input, run)
      if (value instanceof Error) throw value
      return await endOf(value, state)
    } catch (error) {
      return endOfThrow(error, state)
    }
  }

  async function endOf(value: unknown, state: RunState): Promise<RunEnd> {
    if (state.isSettled) return SETTLED
    // A follow-up whose input is refused fails the run, awaited by the handler or not.
    const followUps = await Promise.all(state.followUps)
    if (state.pausedForMs !== null) {
      const pause = { delayMs: state.pausedForMs, carry: state.changedCarry() }
      return fate(afterPause(job, pause), followUps)
    }
    return fate(afterReturn(job, services.resultText(definition, value)), followUps)
  }

  function endOfThrow(error: unknown, state: RunState): RunEnd {
    // What is committed is not taken back by what the handler throws afterwards.
    if (state.isSettled) return SETTLED
    if (isShutdown(error, stop.reason())) return fate(afterRelease(job))
    // The lease is gone, or was about to be: recovery has counted or will count this run.
    if (stop.reason() instanceof LeaseLostError || error instanceof LeaseLostError) return LOST
    try {
      return fate(afterThrow(job, error, state.changedCarry()))
    } catch (unencodable) {
      return fate(afterThrow(job, unencodable))
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
    end: decision.made.finally(() => cancelTimeout?.()),
    abort: stop.abort,
    release: () => decision.make(fate(afterRelease(job))),
    unstorable: (cause) => afterThrow({ ...job, remarks: {} }, unstorable(cause)),
  }
}

/** The policy of a job in a worker with a limit of its own. */
function stricter(policy: Policy, failures: number | null): Policy {
  return failures === null || failures >= policy.failures ? policy : { ...policy, failures }
}

const SETTLED: RunEnd = { type: 'settled' }
const LOST: RunEnd = { type: 'lost' }

function fate(row: FateRow, followUps: readonly Ask[] = []): RunEnd {
  return { type: 'fate', fate: row, followUps }
}

function inputOf(row: ClaimedRow, handled: HandledKind): unknown {
  if (row.payload === null) {
    throw new SyntaxError(`the payload of job ${row.job_id} is missing from the table jobs`)
  }
  return readInput(definitionOf(handled.kind), row.payload)
}

interface Decision {
  readonly made: Promise<RunEnd>
  readonly make: (end: RunEnd) => void
}

function firstDecision(): Decision {
  let decide: Decision['make'] | undefined
  const made = new Promise<RunEnd>((resolve) => {
    decide = resolve
  })
  return { made, make: (end) => decide?.(end) }
}

/** A declared result as it is stored; undefined where the kind declares none. Throws where JSON cannot hold it (O3). */
export function resultText(
  definition: { readonly keepsResult: boolean },
  value: unknown,
): string | undefined {
  if (!definition.keepsResult) return undefined
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
