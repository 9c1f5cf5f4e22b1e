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
import { stamped } from './stamped.ts'
import type { Stamped } from './stamped.ts'
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
  readonly settlement: OwnSettlement
  readonly stop: StopSwitch
  readonly deadline: number | null
  readonly services: RunServices
  /** The settlement is about to be written: from now on a lease that is gone is no loss. */
  settling(): void
}

const HISTORY = 100
const MOST_HISTORY = 10_000

/** The run as its handler sees it: a thin face over its state and its worker. */
export function runFor(parts: RunParts, state: RunState): Run {
  return new Face(parts, state)
}

/**
 * Its verbs are made when they are looked up: handlers take them out of their run, as in
 * `async (input, { enqueue }) => …`, and most runs use none.
 */
class Face implements Run, Stamped {
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly number: number
  readonly failures: number
  readonly #parts: RunParts
  readonly #state: RunState

  constructor(parts: RunParts, state: RunState) {
    const { row, job } = parts
    this.id = job.id
    this.kind = row.kind
    this.queue = row.queue
    this.number = job.run
    this.failures = job.failures
    this.#parts = parts
    this.#state = state
  }

  get [stamped](): string | null {
    return this.#parts.row.options
  }

  get signal(): AbortSignal {
    return this.#parts.stop.signal
  }

  get deadline(): Date | null {
    const { deadline } = this.#parts
    return deadline === null ? null : new Date(deadline)
  }

  get carry(): unknown {
    return this.#state.carry
  }

  set carry(value: unknown) {
    this.#state.carry = value
  }

  get history(): Run['history'] {
    return async (options = {}) => {
      const { limit = HISTORY } = checkOptions('run.history()', options, ['limit'])
      return this.#parts.services.history(this.id, checkedLimit(limit))
    }
  }

  get note(): Run['note'] {
    return (text) => {
      this.#parts.job.remarks.note = noteText(text)
    }
  }

  get attach(): Run['attach'] {
    return (json) => {
      this.#parts.job.remarks.attachment = attachmentText(json)
    }
  }

  get checkpoint(): Run['checkpoint'] {
    return () => {
      mustBeUnsettled(this.#parts.settlement, 'checkpoint')
      const saving = heard(checkpoint(this.#parts, this.#state))
      this.#state.saves.push(saving)
      return saving
    }
  }

  get progress(): Run['progress'] {
    return (done, total) => {
      this.#parts.services.progress(
        { id: this.id, run: this.number },
        {
          done: checkedCount('done', done),
          total: total === undefined ? null : checkedCount('total', total),
        },
      )
    }
  }

  get pause(): Run['pause'] {
    return (until) => {
      const { settlement, services } = this.#parts
      if (settlement.phase === 'open') throw new InvalidOptionError('pause', until, BOTH)
      mustBeUnsettled(settlement, 'pause')
      this.#state.pausedForMs = pauseMs(until, services.now())
      return pausedWord()
    }
  }

  get enqueue(): Run['enqueue'] {
    return (kind: JobKind, input?: unknown, options: { readonly id?: unknown } = {}) => {
      const { settlement, services } = this.#parts
      mustBeUnsettled(settlement, 'enqueue')
      const prepared = async (): Promise<Ask> => services.prepareAsk(kind, input, options)
      const ask = heard(prepared())
      this.#state.followUps.push(ask)
      return heard(ask.then(() => undefined))
    }
  }

  get transaction(): Run['transaction'] {
    return (...given: readonly unknown[]) => transact(this.#parts, this.#state, given)
  }
}

async function checkpoint({ job, services }: RunParts, state: RunState): Promise<void> {
  const carry = state.changedCarry()
  if (carry === undefined) return
  const { id, run } = job
  if (!(await services.saveCarry({ id, run }, carry))) throw new LeaseLostError(id, run)
  state.savedCarry(carry)
}

function transact(parts: RunParts, state: RunState, given: readonly unknown[]): Promise<never> {
  if (state.pausedForMs !== null) {
    return Promise.reject(new InvalidOptionError('transaction', 'a run that paused', BOTH))
  }
  const made = parts.settlement.begin(async (doom) =>
    parts.services.transact(selfSettling(parts, state, doom), given),
  )
  return asGiven(made)
}

const BOTH = 'a run is settled by its transaction or by a pause, not by both. Use one of them.'

function selfSettling(parts: RunParts, state: RunState, doom: AbortSignal): SelfSettling {
  const { row, job, handled, services } = parts
  const definition = definitionOf(handled.kind)
  return {
    id: job.id,
    run: job.run,
    kind: row.kind,
    leaseMs: row.lease_ms,
    doom,
    onSettling: () => {
      parts.settling()
    },
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
