import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { hintsOf } from './enqueue-statements.ts'

export type RescheduleParams = {
  readonly ids: string
  readonly states: string
  /** Due then, or so long from now, or as it was; past instants mean now. */
  readonly due_at: string | null
  readonly delay_ms: number | null
  /** Null: as it was. */
  readonly priority: number | null
  readonly by: string | null
  readonly hint_until: string
}

// X4: pending jobs only; a claim with an older snapshot misses the changed row (M4) and takes it next
// time. The body's priority moves too, so that a later redrive keeps what was decided. An ask that
// waits for a running twin of its key no longer does once somebody says when it is due. A message
// that waits in the line of its key stays there (B1); what is said holds for when it is its turn.
export const rescheduleJobs: Statement<RescheduleParams, { job_id: string }> = statement(
  'reschedule_jobs',
  `
with waiting as materialized (
  select job_id
  from millrace.ready
  where job_id = any ($ids::text::text[])
    and 'pending' = any ($states::text::text[])
  order by job_id
  for update skip locked
),
moment as materialized (
  select greatest(
    $now::text::timestamptz,
    coalesce($due_at::text::timestamptz, $now::text::timestamptz + $delay_ms::float8 * interval '1 millisecond')
  ) as due_at
  where $due_at::text is not null or $delay_ms::float8 is not null
),
changed as (
  update millrace.ready
  set
    due_at = case when reason = 'line' then due_at else coalesce((select due_at from moment), due_at) end,
    reason = case when reason = 'rerun' and exists (select from moment) then null else reason end,
    priority = coalesce($priority::int, priority)
  where job_id = any (array(select job_id from waiting))
  returning job_id, queue, due_at, run, failures, priority, reason
),
lined as (
  update millrace.outbox_line
  set due_at = (select due_at from moment)
  where job_id = any (array(select job_id from changed where reason = 'line' and exists (select from moment)))
),
bodies as (
  update millrace.jobs
  set priority = $priority::int
  where id = any (array(select job_id from changed))
    and $priority::int is not null
),
logged as (
  insert into millrace.journal (job_id, at, outcome, run, failures, due_at, decided_by)
  select job_id, $now::text::timestamptz, 'rescheduled', run, failures, due_at, $by::text
  from changed
),
${hintsOf('changed')}
select changed.job_id
from changed
where (select sent from hints) is not null`,
)
