import { checkOptions } from '../core/names.ts'
import { BULK_OPTIONS, changeJobs } from './bulk.ts'
import type { Bulk, BulkContext, Changed, Ids } from './bulk.ts'
import { cancelJobs, forceCancelJobs } from './cancel-statements.ts'
import type { CancelledRow } from './cancel-statements.ts'
import { saidText } from './decided-by.ts'
import type { JobFilter } from './job.ts'
import { releaseRerunsOf } from './rerun-statements.ts'

export interface CancelOptions extends Bulk {
  /** Who asks, kept with the record: at most 1 000 bytes. */
  by?: string | undefined
  /** Why, kept with the record: at most 1 000 bytes. */
  why?: string | undefined
  /** End running jobs now, whatever their runs do: what they return is not recorded. Default false. */
  force?: boolean | undefined
}

/**
 * X1: pending jobs end at once; of running ones the end is asked of their workers, which are told by
 * a hint and else find it within a second. With `force` the lease is taken and the run is void.
 */
export function cancel(
  which: Ids | JobFilter,
  options: CancelOptions,
  context: BulkContext,
): Promise<Changed> {
  checkOptions('cancel()', options, ['by', 'why', 'force', ...BULK_OPTIONS])
  const { force = false, ...bulk } = options
  const said = { by: saidText('by', options.by), why: saidText('why', options.why) }

  async function apply(ids: string, states: string): Promise<readonly string[]> {
    const statement = force ? forceCancelJobs : cancelJobs
    const hint_until = context.hintUntil()
    const rows = await context.runner().run(statement, { ids, states, ...said, hint_until })
    for (const { job_id: id, kind, queue, run } of rows) {
      if (kind === null || queue === null) continue
      context.events?.tell('cancelled', { id, kind, queue, run: run ?? 0 })
    }
    await freeKeys(rows)
    return rows.map(({ job_id }) => job_id)
  }

  /** What waited for the end of a run of these keys is due (D1). */
  async function freeKeys(rows: readonly CancelledRow[]): Promise<void> {
    const keys = rows.filter(({ kind, dedup_key }) => kind !== null && dedup_key !== null)
    if (keys.length === 0) return
    const hint_until = context.hintUntil()
    await context.runner().run(releaseRerunsOf, { keys: JSON.stringify(keys), hint_until })
  }

  return changeJobs(which, { states: ['pending', 'running'], apply }, { bulk, context })
}
