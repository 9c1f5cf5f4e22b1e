import type { Clock } from '../core/clock.ts'
import { LeaseLostError, RunTimeoutError, ShutdownError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import { definitionOf } from '../jobs/definition.ts'
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
import { fate, LOST, NO_ASKS, SETTLED } from './run-end.ts'
import type { RunEnd } from './run-end.ts'
import { inputOf, isOne, isThenable, unstorable } from './run-values.ts'
import { OwnSettlement } from './own-settlement.ts'
import { runFor } from './run-for.ts'
import type { RunParts, RunServices } from './run-for.ts'
import { allSaved, checkedFollowUps, runState, UnstorableCarryError } from './run-state.ts'
import type { RunState } from './run-state.ts'
import type { FateRow } from './settle-statements.ts'
import { StopSwitch } from './stop-switch.ts'

/**
 * One run, from a claimed row to its fate. The handler is called once; what ends first decides: its
 * return or rejection, the job's timeout, or the worker letting go of it. Whatever the handler does
 * after that is void.
 *
 * An object with fields, and promises only where something is waited for: a worker holds thousands
 * of runs between their claim and their record, and each closure and promise of them is copied by
 * the garbage collector meanwhile (measured: 30 % of the processor time of a drain).
 */
export interface ActiveRun extends LiveRun {
  readonly kind: string
  readonly queue: string
  readonly beganAt: number
  /** In the set of those at work. */
  place: number
  /** Calls the handler. */
  begin(): Promise<void>
  /** Tells the handler through its signal; the first reason stays. */
  abort(reason: Error): void
  /** Hands the job back at once, whatever the handler is doing. */
  release(): void
  /** Its fate in place of one that cannot be stored: a failure that says why. */
  unstorable(error: unknown): FateRow
}

export interface ExecuteContext {
  readonly clock: Clock
  readonly services: RunServices
  /** Dead at this failure, where the job's own limit is higher. */
  readonly failures: number | null
  /** The run is decided; called once. */
  readonly onEnd: (run: ActiveRun, end: RunEnd) => void
}

export function makeRun(row: ClaimedRow, handled: HandledKind, context: ExecuteContext): ActiveRun {
  return new Execution(row, handled, context)
}

class Execution implements ActiveRun, RunParts {
  readonly row: ClaimedRow
  readonly job: RunOfJob
  readonly handled: HandledKind
  readonly services: RunServices
  readonly settlement: OwnSettlement
  readonly stop: StopSwitch = new StopSwitch()
  readonly beganAt: number
  readonly deadline: number | null
  leaseEndsAt: number
  renewAt: number
  isEnded = false
  isTold = false
  place = -1
  readonly #context: ExecuteContext
  readonly #cancelTimeout: (() => void) | undefined
  #state: RunState | undefined
  #isDecided = false

  constructor(row: ClaimedRow, handled: HandledKind, context: ExecuteContext) {
    const { clock, services, failures } = context
    const policy = stricter(decodePolicy(row.options), failures)
    this.row = row
    this.job = { id: row.job_id, run: row.run, failures: row.failures, policy, remarks: {} }
    this.handled = handled
    this.services = services
    this.settlement = new OwnSettlement(() => {
      this.isEnded = false
    })
    this.leaseEndsAt = row.lease_ends_at
    this.renewAt = row.lease_ends_at - (row.lease_ms * 2) / 3
    this.#context = context
    const { timeoutMs } = policy
    this.beganAt = clock.now()
    this.deadline = timeoutMs === null ? null : this.beganAt + timeoutMs
    if (timeoutMs !== null) {
      this.#cancelTimeout = clock.after(timeoutMs, () => {
        this.#timeOut(timeoutMs)
      })
    }
  }

  get id(): string {
    return this.row.job_id
  }

  get run(): number {
    return this.row.run
  }

  get kind(): string {
    return this.row.kind
  }

  get queue(): string {
    return this.row.queue
  }

  get leaseMs(): number {
    return this.row.lease_ms
  }

  async begin(): Promise<void> {
    let input: unknown
    try {
      const read = inputOf(this.row, this.handled.kind)
      input = isThenable(read) ? await read : read
    } catch (error) {
      this.#decide(fate(afterUndecodable(this.job, error)))
      return
    }
    const state = this.#readState(input)
    if (state === undefined) return
    let end: RunEnd
    try {
      const returned: unknown = this.handled.handler(input, runFor(this, state))
      const value = isThenable(returned) ? await returned : returned
      if (isOne(value, Error)) throw value
      const isPlain = isUntouched(this.settlement, state)
      end = isPlain ? this.#ended(value, state) : await this.#endOf(value, state)
    } catch (error) {
      end = await this.#endOfThrow(error)
    }
    this.#decide(end)
  }

  abort(reason: Error): void {
    this.stop.abort(reason)
  }

  release(): void {
    const reason = this.stop.reason ?? new ShutdownError()
    this.#overrule(reason, fate(afterRelease(this.job)), RELEASE_PATIENCE)
  }

  unstorable(cause: unknown): FateRow {
    return afterThrow({ ...this.job, remarks: {} }, unstorable(cause))
  }

  // A lease that is gone from now on is no loss: the settlement itself removes it.
  settling(): void {
    this.isEnded = true
  }

  /** Undefined: the handler is not to be called, and that is decided. */
  #readState(input: unknown): RunState | undefined {
    const { job, row } = this
    // A schema may take its time: by now the job may be another worker's, and must not begin here.
    if (this.#isDecided) return undefined
    const { reason } = this.stop
    if (reason !== undefined) {
      this.#decide(reason instanceof LeaseLostError ? LOST : fate(afterRelease(job)))
      return undefined
    }
    try {
      this.#state = runState(definitionOf(this.handled.kind), input, row.carry)
      return this.#state
    } catch (error) {
      // What is stored stays as it is; what the kind's own function throws may pass, or be mended.
      const isFirst = row.carry === null
      this.#decide(fate(isFirst ? afterThrow(job, error) : afterUndecodable(job, error)))
      return undefined
    }
  }

  async #endOf(value: unknown, state: RunState): Promise<RunEnd> {
    if (this.settlement.phase === 'open') await this.settlement.leftOpen()
    if (this.settlement.phase === 'settled') return SETTLED
    await allSaved(state)
    const followUps = await checkedFollowUps(state)
    return this.#ended(value, state, followUps)
  }

  #ended(value: unknown, state: RunState, followUps: readonly Ask[] = NO_ASKS): RunEnd {
    const { job, services, handled } = this
    const { pausedForMs: delayMs } = state
    const ended =
      delayMs === null
        ? afterReturn(job, services.resultText(definitionOf(handled.kind), value))
        : afterPause(job, { delayMs, carry: state.changedCarry() })
    return { type: 'fate', fate: ended, followUps }
  }

  /** Never rejects: an error that cannot be recorded as it is, is a failure all the same. */
  async #endOfThrow(error: unknown): Promise<RunEnd> {
    try {
      return await this.#afterThrow(error)
    } catch (unrecordable) {
      return fate(afterThrow(this.job, unrecordable))
    }
  }

  async #afterThrow(error: unknown): Promise<RunEnd> {
    const { settlement, stop, job } = this
    await settlement.end(() => new Error(LEFT_OPEN, { cause: error }))
    // What is committed is not taken back by what the handler throws afterwards.
    if (settlement.phase === 'settled') return SETTLED
    if (isShutdown(error, stop.reason)) return fate(afterRelease(job))
    // The lease is gone, or was about to be: recovery has counted or will count this run.
    if (stop.reason instanceof LeaseLostError || isOne(error, LeaseLostError)) return LOST
    if (this.#state !== undefined) await allSaved(this.#state)
    return fate(this.#afterFailure(error))
  }

  /** With the carry as it is now; one that cannot be stored is told beside the error. */
  #afterFailure(error: unknown): FateRow {
    if (isOne(error, UnstorableCarryError)) return afterThrow(this.job, error)
    try {
      return afterThrow(this.job, error, this.#state?.changedCarry())
    } catch (unstorableCarry) {
      if (!(unstorableCarry instanceof UnstorableCarryError)) throw unstorableCarry
      return afterThrowWithout(this.job, error, unstorableCarry)
    }
  }

  #timeOut(timeoutMs: number): void {
    const error = new RunTimeoutError(this.id, timeoutMs)
    this.#overrule(error, fate(this.#afterFailure(error)), this.leaseMs)
    this.stop.abort(error)
  }

  /**
   * The worker decides, whatever the handler does. A transaction that is open locks the lease, so
   * it ends first; one of the application's own library may not, and is left behind, lease and all.
   */
  #overrule(reason: Error, end: RunEnd, patienceMs: number): void {
    const { settlement } = this
    const ended = settlement.end(() => reason)
    if (ended === undefined) {
      this.#decide(settlement.phase === 'settled' ? SETTLED : end)
      return
    }
    const cancel = this.#context.clock.after(patienceMs, () => {
      this.#decide(LOST)
    })
    void ended.then((isSettled) => {
      cancel()
      this.#decide(isSettled ? SETTLED : end)
    })
  }

  /** The first decision stays. */
  #decide(end: RunEnd): void {
    if (this.#isDecided) return
    this.#isDecided = true
    this.#cancelTimeout?.()
    // Undefined: nothing is open any more, or it was left behind.
    void this.settlement.end(overError)
    this.#context.onEnd(this, end)
  }
}

/** Nothing is to be waited for between the handler's return and the fate. */
function isUntouched({ phase }: OwnSettlement, { saves, followUps }: RunState): boolean {
  return phase === 'none' && saves.length === 0 && followUps.length === 0
}

// A worker that stops does not wait longer than this for a transaction that it cannot end itself.
const RELEASE_PATIENCE = 1_000
const LEFT_OPEN = 'the handler failed while its transaction was open, which is rolled back'

function overError(): Error {
  return new Error('the run is over: await run.transaction() before the handler returns')
}

/** The policy of a job in a worker with a limit of its own. */
function stricter(policy: Policy, failures: number | null): Policy {
  return failures === null || failures >= policy.failures ? policy : { ...policy, failures }
}
