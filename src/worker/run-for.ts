import { checkOptions } from '../core/names.ts'
import { InvalidOptionError, LeaseLostError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import type { Definition } from '../jobs/definition.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { JournalEntry, Progress } from '../jobs/job.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { afterReturn } from './fate.ts'
import type { RunOfJob } from './fate.ts'
import type { HandledKind } from './handlers.ts'
import type { OwnSettlement } from './own-settlement.ts'
import { attachmentText, noteText, pausedWord, pauseMs } from './run.ts'
import type { Run } from './run.ts'
import { checkedFollowUps } from './run-state.ts'
import type { RunState } from './run-state.ts'
import type { SelfSettling } from './run-transaction.ts'
import type { StopSwitch } from './stop-switch.ts'

/** What a run asks of its worker. */
export interface RunServices {
  readonly now: () => number
  readonly history: (id: string, limit: number) => Promise<readonly JournalEntry[]>
  /** Guarded by the lease; false: it is not this run's any more. */
  readonly saveCarry: (
    run: { readonly id: string; readonly run: number },
    carry: string,
  ) => Promise<boolean>
  readonly progress: (
    run: { readonly id: string; readonly run: number },
    progress: Progress,
  ) => void
  readonly prepareAsk: (kind: JobKind, input: unknown, options: object) => Ask | Promise<Ask>
  /** The arguments of `run.transaction`: `fn`, or a database and `fn`. */
  readonly transact: (run: SelfSettling, given: readonly unknown[]) => Promise<unknown>
  readonly resultText: (definition: Definition, value: unknown) => string | undefined
}

export interface RunParts {
  readonly row: ClaimedRow
  readonly job: RunOfJob
  readonly handled: HandledKind
  readonly state: RunState
  readonly settlement: OwnSettlement
  readonly stop: StopSwitch
  readonly deadline: number | null
  /** The settlement is about to be written: from now on a lease that is gone is no loss. */
  readonly onSettling: () => void
}

const HISTORY = 100
const MOST_HISTORY = 10_000

/** The run as its handler sees it: a thin face over its state and its worker. */
export function runFor(parts: RunParts, services: RunServices): Run {
  const { row, job, state, settlement, stop, deadline } = parts
  const key = { id: job.id, run: job.run }

  async function checkpoint(): Promise<void> {
    const carry = state.changedCarry()
    if (carry === undefined) return
    if (!(await services.saveCarry(key, carry))) throw new LeaseLostError(job.id, job.run)
    state.savedCarry(carry)
  }

  return {
    id: job.id,
    kind: row.kind,
    queue: row.queue,
    number: job.run,
    failures: job.failures,
    get signal() {
      return stop.signal()
    },
    get deadline() {
      return deadline === null ? null : new Date(deadline)
    },
    get carry() {
      return state.carry
    },
    set carry(value) {
      state.carry = value
    },
    async history(options = {}) {
      const { limit = HISTORY } = checkOptions('run.history()', options, ['limit'])
      return services.history(job.id, checkedLimit(limit))
    },
    note(text) {
      state.remarks.note = noteText(text)
    },
    attach(json) {
      state.remarks.attachment = attachmentText(json)
    },
    checkpoint() {
      mustBeUnsettled(settlement, 'checkpoint')
      const saving = heard(checkpoint())
      state.saves.push(saving)
      return saving
    },
    progress(done, total) {
      services.progress(key, {
        done: checkedCount('done', done),
        total: total === undefined ? null : checkedCount('total', total),
      })
    },
    pause(until) {
      if (settlement.phase === 'open') throw new InvalidOptionError('pause', until, BOTH)
      mustBeUnsettled(settlement, 'pause')
      state.pausedForMs = pauseMs(until, services.now())
      return pausedWord()
    },
    enqueue(kind: JobKind, input?: unknown, options: { readonly id?: unknown } = {}) {
      mustBeUnsettled(settlement, 'enqueue')
      state.hasGivenIds ||= options.id !== undefined
      const ask = heard(prepared(kind, input, options))
      state.followUps.push(ask)
      return heard(ask.then(() => undefined))
    },
    transaction: (...given: readonly unknown[]) => transact(given),
  }

  async function prepared(kind: JobKind, input: unknown, options: object): Promise<Ask> {
    return services.prepareAsk(kind, input, options)
  }

  function transact(given: readonly unknown[]): Promise<never> {
    if (state.pausedForMs !== null) {
      return Promise.reject(new InvalidOptionError('transaction', 'a run that paused', BOTH))
    }
    const made = settlement.begin(async (doom) =>
      services.transact(selfSettling(parts, services, doom), given),
    )
    return asGiven(made)
  }
}

const BOTH = 'a run is settled by its transaction or by a pause, not by both. Use one of them.'

function selfSettling(parts: RunParts, services: RunServices, doom: AbortSignal): SelfSettling {
  const { row, job, handled, state, onSettling } = parts
  const definition = definitionOf(handled.kind)
  return {
    id: job.id,
    run: job.run,
    kind: row.kind,
    leaseMs: row.lease_ms,
    doom,
    onSettling,
    async settlement(value) {
      const fate = afterReturn(job, services.resultText(definition, value))
      return { fate, followUps: await checkedFollowUps(state) }
    },
  }
}

/** What a run says after it is settled would be lost without a word. */
function mustBeUnsettled({ phase, isOver }: OwnSettlement, verb: string): void {
  if (phase !== 'settled' && !isOver) return
  const when = phase === 'settled' ? 'its transaction' : 'the run'
  throw new InvalidOptionError(
    verb,
    `a call after the end of ${when}`,
    `the run is decided by then. Await run.${verb}() before ${when} ends.`,
  )
}

/** A rejection that the handler does not await must not end the process: the end of the run hears it. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

function checkedLimit(limit: unknown): number {
  if (typeof limit === 'number' && Number.isInteger(limit) && limit <= MOST_HISTORY) {
    return Math.max(0, limit)
  }
  throw new InvalidOptionError('limit', limit, `pass a whole number up to ${MOST_HISTORY}.`)
}

function checkedCount(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new InvalidOptionError(option, value, 'pass a finite number.')
}

/** What `fn` gave, back to who called it with the same types. */
function asGiven(value: Promise<unknown>): Promise<never> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types are those of the call
  return value as Promise<never>
}
