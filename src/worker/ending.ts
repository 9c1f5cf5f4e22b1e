import type { Waiting } from '../database/batcher.ts'
import type { Executor } from '../database/executor.ts'
import { isForAMember } from '../database/halving.ts'
import { DatabaseError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import { isKeyed } from '../jobs/keyed-ask.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { ActiveRun } from './execute.ts'
import type { RunEnd } from './run-end.ts'
import { afterRelease } from './fate.ts'
import { settleKeyed } from './settle-keyed.ts'
import type { KeyedSettlementOptions } from './settle-keyed.ts'
import type { Settlement, Settler } from './settle.ts'
import type { FateRow } from './settle-statements.ts'

/**
 * From the end of a run to its record: the fate goes with the next batch, or alone where its
 * follow-ups have keys; one that cannot be stored becomes a failure that says so (O3).
 */
export interface Ending {
  /** `onWritten` hears once whether the fate applied; false: the lease was lost, and nothing was written. */
  write(run: ActiveRun, end: Fated, onWritten: OnWritten): void
  /** Jobs that were claimed and will not be run here go back to their places. */
  handBack(rows: readonly ClaimedRow[]): readonly Promise<void>[]
}

// More asks than this in one statement would hold up the runs that settle with it.
const MOST_TOGETHER = 500

/** What may wait for somebody, or takes long, goes beside the batch: asks with a key, or with an id of the handler's. */
function mustGoAlone({ followUps }: Fated): boolean {
  return followUps.length > MOST_TOGETHER || followUps.some((ask) => ask.hasGivenId || isKeyed(ask))
}

export type OnWritten = (run: ActiveRun, isApplied: boolean) => void

interface Hooks {
  readonly onWritten: OnWritten
  readonly onRefused: (settlement: RunSettlement, error: unknown) => void
}

/** A run on its way to its record: the settlement and its own answer, one object for each run. */
class RunSettlement implements Settlement, Waiting<Settlement, boolean> {
  readonly run: ActiveRun
  readonly fate: FateRow
  readonly followUps: readonly Ask[]
  readonly #hooks: Hooks

  constructor(run: ActiveRun, { fate, followUps }: Fated, hooks: Hooks) {
    this.run = run
    this.fate = fate
    this.followUps = followUps
    this.#hooks = hooks
  }

  get item(): Settlement {
    return this
  }

  get of(): ActiveRun {
    return this.run
  }

  get leaseEndsAt(): () => number {
    return () => this.run.leaseEndsAt
  }

  resolve(isApplied: boolean): void {
    this.#hooks.onWritten(this.run, isApplied)
  }

  reject(error: unknown): void {
    this.#hooks.onRefused(this, error)
  }
}

/** An end that has something to write. */
export type Fated = Extract<RunEnd, { readonly type: 'fate' }>

export interface EndingOptions extends KeyedSettlementOptions {
  readonly executor: Executor
  readonly settler: Settler
  readonly warn: (message: string) => (error: unknown) => void
}

export function ending(options: EndingOptions): Ending {
  const { settler, warn } = options
  const notSettled = warn('a run could not be settled; its job comes back when the lease ends')
  const notHandedBack = warn('a claimed job could not be handed back')

  function write(run: ActiveRun, end: Fated, onWritten: OnWritten): void {
    const settlement = new RunSettlement(run, end, { onWritten, onRefused })
    if (!mustGoAlone(end)) {
      settler.put(settlement)
      return
    }
    settleKeyed(settlement, options).then(
      (applied) => settlement.resolve(applied),
      (error: unknown) => settlement.reject(error),
    )
  }

  /** A database that is away says nothing about the fate: then the run did not fail. */
  function onRefused(settlement: RunSettlement, error: unknown): void {
    if (error instanceof DatabaseError && (!isForAMember(error) || isEndedAlready(error))) {
      leaveToLapse(settlement, error)
      return
    }
    const { run, leaseEndsAt, of } = settlement
    settler.settle({ fate: run.unstorable(error), of, leaseEndsAt }).then(
      (isApplied) => settlement.resolve(isApplied),
      (failure: unknown) => leaveToLapse(settlement, failure),
    )
  }

  function leaveToLapse(settlement: RunSettlement, error: unknown): void {
    notSettled(error)
    settlement.resolve(true)
  }

  function handBackOne(row: ClaimedRow): Promise<void> {
    const policy = decodePolicy(row.options)
    const fate = afterRelease({ id: row.job_id, run: row.run, policy })
    const settled = settler.settle({ fate, of: row, leaseEndsAt: () => row.lease_ends_at })
    return settled.then(() => undefined, notHandedBack)
  }

  return { write, handBack: (rows) => rows.map(handBackOne) }
}

/** The job has its record: this lease is a stray, and recovery removes it. The server names the index in any language. */
function isEndedAlready({ sqlstate, message }: DatabaseError): boolean {
  return sqlstate === '23505' && message.includes('finished_pkey')
}
