import { checkOptions } from '../core/names.ts'
import { BULK_OPTIONS, changeJobs } from './bulk.ts'
import type { Bulk, BulkContext, Changed, Ids } from './bulk.ts'
import { saidText } from './decided-by.ts'
import type { JobFilter } from './job.ts'
import { redriveJobs } from './redrive-statements.ts'

export interface RetryOptions extends Bulk {
  /** Who asks, kept in the journal: at most 1 000 bytes. */
  by?: string | undefined
}

/** X2: dead and cancelled jobs back to pending: due now, failures 0, the same id, the old ending kept in the journal. */
export function redrive(
  which: Ids | JobFilter,
  options: RetryOptions,
  context: BulkContext,
): Promise<Changed> {
  checkOptions('retry()', options, ['by', ...BULK_OPTIONS])
  const by = saidText('by', options.by)

  async function apply(ids: string, states: string): Promise<readonly string[]> {
    const hint_until = context.hintUntil()
    const rows = await context.runner().run(redriveJobs, { ids, states, by, hint_until })
    return rows.map(({ job_id }) => job_id)
  }

  return changeJobs(which, { states: ['dead', 'cancelled'], apply }, { bulk: options, context })
}
