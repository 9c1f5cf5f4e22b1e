import { InvalidOptionError, LeaseLostError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import type { Definition } from '../jobs/definition.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { JournalEntry } from '../jobs/job.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { afterReturn } from './fate.ts'
import type { RunOfJob } from './fate.ts'
import type { HandledKind } from './handlers.ts'
import { attachmentText, noteText, pausedWord, pauseMs } from './run.ts'
import type { Run } from './run.ts'
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

export interface Progress {
  readonly done: number
  readonly total: number | null
}

export interface RunParts {
  readonly row: ClaimedRow
  readonly job: RunOfJob
  readonly handled: HandledKind
  readonly state: RunState
  readonly stop: StopSwitch
  readonly deadline: number | null
}

const HISTORY = 100

/** The run as its handler sees it: a thin face over its state and its worker. */
export function runFor(parts: RunParts, services: RunServices): Run {
  const { row, job, state, stop, deadline } = parts
  const key = { id: job.id, run: job.run }
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
    history: ({ limit = HISTORY } = {}) => services.history(job.id, checkedLimit(limit)),
    note(text) {
      state.remarks.note = noteText(text)
    },
    attach(json) {
      state.remarks.attachment = attachmentText(json)
    },
    async checkpoint() {
      const carry = state.changedCarry()
      if (carry === undefined) return
      if (!(await services.saveCarry(key, carry))) throw new LeaseLostError(job.id, job.run)
      state.savedCarry(carry)
    },
    progress(done, total) {
      services.progress(key, {
        done: checkedCount('done', done),
        total: total === undefined ? null : checkedCount('total', total),
      })
    },
    pause(until) {
      state.pausedForMs = pauseMs(until, services.now())
      return pausedWord()
    },
    async enqueue(kind: JobKind, input?: unknown, options: object = {}) {
      const ask = Promise.resolve(services.prepareAsk(kind, input, options))
      // Awaited again before the settlement: a rejection is heard there, awaited here or not.
      ask.catch(() => undefined)
      state.followUps.push(ask)
      await ask
    },
    transaction: (...given: readonly unknown[]) => transact(given),
  }

  async function transact(given: readonly unknown[]): Promise<never> {
    if (state.hasTransaction) {
      throw new InvalidOptionError(
        'transaction',
        'a second call',
        'a run settles once: write everything in one transaction',
      )
    }
    state.hasTransaction = true
    const value = await services.transact(selfSettling(parts, services), given)
    state.isSettled = true
    return asGiven(value)
  }
}

function selfSettling({ row, job, handled, state }: RunParts, services: RunServices): SelfSettling {
  const definition = definitionOf(handled.kind)
  return {
    id: job.id,
    run: job.run,
    kind: row.kind,
    leaseMs: row.lease_ms,
    async settlement(value) {
      const followUps = await Promise.all(state.followUps)
      return { fate: afterReturn(job, services.resultText(definition, value)), followUps }
    },
  }
}

function checkedLimit(limit: unknown): number {
  if (typeof limit === 'number' && Number.isInteger(limit) && limit <= 10_000)
    return Math.max(0, limit)
  throw new InvalidOptionError('limit', limit, 'pass a whole number up to 10000')
}

function checkedCount(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new InvalidOptionError(option, value, 'pass a finite number')
}

/** What `fn` gave, back to who called it with the same types. */
function asGiven(value: unknown): never {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types are those of the call
  return value as never
}
