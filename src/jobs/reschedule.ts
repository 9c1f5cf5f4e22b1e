import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { instantText } from '../core/instant-text.ts'
import { instant } from '../core/instant.ts'
import { checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { BULK_OPTIONS, changeJobs } from './bulk.ts'
import type { Bulk, BulkContext, Changed, Ids } from './bulk.ts'
import { saidText } from './decided-by.ts'
import type { JobFilter } from './job.ts'
import type { Priority } from './kind.ts'
import { rescheduleJobs } from './reschedule-statements.ts'
import type { RescheduleParams } from './reschedule-statements.ts'
import { readOption } from './stamped-options.ts'

/** Where pending jobs are put in line: `at` or `delay`, not both, or a priority, or a time and a priority. */
export interface Reschedule {
  /** Due then; past instants mean now. */
  at?: Date | undefined
  /** Due so long from now; 0 is now. */
  delay?: Duration | undefined
  priority?: Priority | undefined
}

export interface RescheduleOptions extends Bulk {
  /** Who asks, kept in the journal: at most 1 000 bytes. */
  by?: string | undefined
}

/** X4: when, and before whom, pending jobs are due. Others are left as they are. */
export function reschedule(
  which: Ids | JobFilter,
  to: Reschedule,
  { options, context }: { readonly options: RescheduleOptions; readonly context: BulkContext },
): Promise<Changed> {
  checkOptions('reschedule()', options, ['by', ...BULK_OPTIONS])
  const place = { ...placeOf(to), by: saidText('by', options.by) }

  async function apply(ids: string, states: string): Promise<readonly string[]> {
    const hint_until = context.hintUntil()
    const rows = await context.runner().run(rescheduleJobs, { ids, states, ...place, hint_until })
    return rows.map(({ job_id }) => job_id)
  }

  return changeJobs(which, { states: ['pending'], apply }, { bulk: options, context })
}

function placeOf(to: Reschedule): Pick<RescheduleParams, 'due_at' | 'delay_ms' | 'priority'> {
  const { at, delay, priority } = checkOptions('reschedule()', to, ['at', 'delay', 'priority'])
  if (at !== undefined && delay !== undefined) {
    throw new InvalidOptionError('delay', delay, 'there is an `at` too. Give one of them.')
  }
  if (at === undefined && delay === undefined && priority === undefined) {
    throw new InvalidOptionError('reschedule', to, 'give one of at, delay and priority')
  }
  return {
    due_at: at === undefined ? null : instantText(instant('at', at)),
    delay_ms: delay === undefined ? null : milliseconds('delay', delay, { zero: true }),
    priority: priority === undefined ? null : (readOption('priority', priority).priority ?? null),
  }
}
