import type { Clock } from '../core/clock.ts'
import { encodeJson } from '../core/json.ts'
import { LeaseLostError, RunTimeoutError, ShutdownError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import { definitionOf } from '../jobs/definition.ts'
import { readInput } from '../jobs/input.ts'
import type { JobKind } from '../jobs/kind.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { Policy } from '../jobs/policy.ts'
import type { ClaimedRow } from './claim-statements.ts'
import {
  afterPause,
  afterRelease,
  afterReturn,
  afterThrow,
  afterThrowWithout,
  afterUndecodable,
  isShutdown,
} from './fate.ts'
import type { RunOfJob } from './fate.ts'
import type { HandledKind } from './handlers.ts'
import type { LiveRun } from './roster.ts'
import { ownSettlement } from './own-settlement.ts'
import { runFor } from './run-for.ts'
import type { RunServices } from './run-for.ts'
import { allSaved, checkedFollowUps, runState, UnstorableCarryError } from './run-state.ts'
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
  | {
      readonly type: 'fate'
      readonly fate: FateRow
      readonly followUps: readonly Ask[]
      /** A follow-up has an id that the handler gave. */
      readonly hasGivenIds: boolean
    }
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
  const settlement = ownSettlement(() => {
    active.isEnded = false
  })
  const { timeoutMs } = policy
  const deadline = timeoutMs === null ? null : clock.now() + timeoutMs
  let state: RunState | undefined

  const cancelTimeout =
    timeoutMs === null
      ? undefined
      : clock.after(timeoutMs, () => {
          const error = new RunTimeoutError(job.id, timeoutMs)
          overrule(error, fate(afterFailure(error)), row.lease_ms)
          stop.abort(error)
        })

  async function perform(): Promise<RunEnd> {
    let input: unknown
    try {
      input = await inputOf(row, handled.kind)
    } catch (error) {
      return fate(afterUndecodable(job, error))
    }
    // A schema may take its time: by now the job may be another worker's, and must not begin here.
    const reason = stop.reason()
    if (reason !== undefined) {
      return reason instanceof LeaseLostError ? LOST : fate(afterRelease(job))
    }
    try {
      const { remarks } = job
      state = runState(definition, { input, stored: row.carry, remarks })
    } catch (error) {
      // What is stored stays as it is; what the kind's own function throws may pass, or be mended.
      return fate(row.carry === null ? afterThrow(job, error) : afterUndecodable(job, error))
    }
    const run = runFor(
      { row, job, handled, state, settlement, stop, deadline, onSettling },
      services,
    )
    try {
      const value: unknown = await handled.handler(input, run)
      if (isOne(value, Error)) throw value
      return await endOf(value, state)
    } catch (error) {
      return endOfThrow(error)
    }
  }

  // A lease that is gone from now on is no loss: the settlement itself removes it.
  function onSettling(): void {
    active.isEnded = true
  }

  async function endOf(value: unknown, current: RunState): Promise<RunEnd> {
    if (settlement.phase === 'open') await settlement.leftOpen()
    if (settlement.phase === 'settled') return SETTLED
    await allSaved(current)
    const followUps = await checkedFollowUps(current)
    const { pausedForMs: delayMs, hasGivenIds } = current
    const ended =
      delayMs === null
        ? afterReturn(job, services.resultText(definition, value))
        : afterPause(job, { delayMs, carry: current.changedCarry() })
    return { type: 'fate', fate: ended, followUps, hasGivenIds }
  }

  async function endOfThrow(error: unknown): Promise<RunEnd> {
    await settlement.end(() => new Error(LEFT_OPEN, { cause: error }))
    // What is committed is not taken back by what the handler throws afterwards.
    if (settlement.phase === 'settled') return SETTLED
    if (isShutdown(error, stop.reason())) return fate(afterRelease(job))
    // The lease is gone, or was about to be: recovery has counted or will count this run.
    if (stop.reason() instanceof LeaseLostError || isOne(error, LeaseLostError)) return LOST
    if (state !== undefined) await allSaved(state)
    return fate(afterFailure(error))
  }

  /** With the carry as it is now; one that cannot be stored is told beside the error. */
  function afterFailure(error: unknown): FateRow {
    if (isOne(error, UnstorableCarryError)) return afterThrow(job, error)
    try {
      return afterThrow(job, error, state?.changedCarry())
    } catch (unstorableCarry) {
      if (!(unstorableCarry instanceof UnstorableCarryError)) throw unstorableCarry
      return afterThrowWithout(job, error, unstorableCarry)
    }
  }

  /**
   * The worker decides, whatever the handler does. A transaction that is open locks the lease, so
   * it ends first; one of the application's own library may not, and is left behind, lease and all.
   */
  function overrule(reason: Error, end: RunEnd, patienceMs: number): void {
    const ended = settlement.end(() => reason)
    if (ended === undefined) {
      decision.make(settlement.phase === 'settled' ? SETTLED : end)
      return
    }
    const cancel = clock.after(patienceMs, () => decision.make(LOST))
    void ended.then((isSettled) => {
      cancel()
      decision.make(isSettled ? SETTLED : end)
    })
  }

  const end = decision.made.finally(() => {
    cancelTimeout?.()
    // Undefined: nothing is open any more, or it was left behind.
    void settlement.end(() => new Error(OVER))
  })

  const active: ActiveRun = {
    id: job.id,
    run: job.run,
    kind: row.kind,
    queue: row.queue,
    leaseMs: row.lease_ms,
    leaseEndsAt: row.lease_ends_at,
    renewAt: row.lease_ends_at - (row.lease_ms * 2) / 3,
    isEnded: false,
    isTold: false,
    end,
    abort: stop.abort,
    release: () => {
      overrule(stop.reason() ?? new ShutdownError(), fate(afterRelease(job)), RELEASE_PATIENCE)
    },
    unstorable: (cause) => afterThrow({ ...job, remarks: {} }, unstorable(cause)),
  }
  void perform()
    .catch((error: unknown) => fate(afterThrow(job, error)))
    .then(decision.make)
  return active
}

// A worker that stops does not wait longer than this for a transaction that it cannot end itself.
const RELEASE_PATIENCE = 1_000
const LEFT_OPEN = 'the handler failed while its transaction was open, which is rolled back'
const OVER = 'the run is over: await run.transaction() before the handler returns'

/** The policy of a job in a worker with a limit of its own. */
function stricter(policy: Policy, failures: number | null): Policy {
  return failures === null || failures >= policy.failures ? policy : { ...policy, failures }
}

const SETTLED: RunEnd = { type: 'settled' }
const LOST: RunEnd = { type: 'lost' }

function fate(row: FateRow): RunEnd {
  return { type: 'fate', fate: row, followUps: [], hasGivenIds: false }
}

/** What a handler gets. Throws, or rejects, where it cannot be read. */
export function inputOf(row: ClaimedRow, kind: JobKind): unknown {
  if (row.payload === null) {
    throw new SyntaxError(`the payload of job ${row.job_id} is missing from the table jobs`)
  }
  return readInput(definitionOf(kind), row.payload)
}

/** As `instanceof`; what throws at the question is none of ours. */
function isOne(value: unknown, type: abstract new (...values: never[]) => unknown): boolean {
  try {
    return value instanceof type
  } catch {
    return false
  }
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
