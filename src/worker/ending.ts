import type { Executor } from '../database/executor.ts'
import { isForAMember } from '../database/halving.ts'
import { DatabaseError } from '../errors.ts'
import { isKeyed } from '../jobs/keyed-ask.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { ActiveRun } from './execute.ts'
import type { RunEnd } from './run-end.ts'
import { afterRelease } from './fate.ts'
import { settleKeyed } from './settle-keyed.ts'
import type { KeyedSettlementOptions } from './settle-keyed.ts'
import type { Settlement, Settler } from './settle.ts'

/**
 * From the end of a run to its record: the fate goes with the next batch, or alone where its
 * follow-ups have keys; one that cannot be stored becomes a failure that says so (O3).
 */
export interface Ending {
  /** False: the lease was lost, and nothing was written. */
  write(run: ActiveRun, end: Fated): Promise<boolean>
  /** Jobs that were claimed and will not be run here go back to their places. */
  handBack(rows: readonly ClaimedRow[]): readonly Promise<void>[]
}

// More asks than this in one statement would hold up the runs that settle with it.
const MOST_TOGETHER = 500

/** What may wait for somebody, or takes long, goes beside the batch: asks with a key, or with an id of the handler's. */
function mustGoAlone({ followUps, hasGivenIds }: Fated): boolean {
  return hasGivenIds || followUps.length > MOST_TOGETHER || followUps.some(isKeyed)
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

  async function write(run: ActiveRun, end: Fated): Promise<boolean> {
    const { fate, followUps } = end
    const settlement = { fate, followUps, leaseEndsAt: (): number => run.leaseEndsAt }
    try {
      return await (mustGoAlone(end)
        ? settleKeyed(settlement, options)
        : settler.settle(settlement))
    } catch (error) {
      return writeAsFailed(run, settlement, error).catch(leftToLapse)
    }
  }

  /** A database that is away says nothing about the fate: then the run did not fail. */
  async function writeAsFailed(
    run: ActiveRun,
    settlement: Settlement,
    error: unknown,
  ): Promise<boolean> {
    if (error instanceof DatabaseError && !isForAMember(error)) throw error
    return settler.settle({ ...settlement, fate: run.unstorable(error), followUps: [] })
  }

  function leftToLapse(error: unknown): boolean {
    notSettled(error)
    return true
  }

  function handBackOne(row: ClaimedRow): Promise<void> {
    const policy = decodePolicy(row.options)
    const fate = afterRelease({ id: row.job_id, run: row.run, policy })
    const settled = settler.settle({ fate, leaseEndsAt: () => row.lease_ends_at })
    return settled.then(() => undefined, notHandedBack)
  }

  return { write, handBack: (rows) => rows.map(handBackOne) }
}
