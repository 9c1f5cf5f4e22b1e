import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

// X2: dead or cancelled back to pending, the old ending kept in the journal (two rows a job: the
// ending and the decision). `= any` on the primary key locks in id order (M6); a job that retention
// takes first is simply not there any more. A message of an outbox goes back to its place in the line
// of its key (B1), and its key is looked at.
export const redriveJobs: Statement<
  { ids: string; states: string; by: string | null; hint_until: string },
  { job_id: string }
> = statement(
  'redrive_jobs',
  `
with gone as (
  delete from millrace.finished
  where job_id = any ($ids::text::text[])
    and (state = any ($states::text::text[]) and state in ('dead', 'cancelled')) is true
  returning *
),
lined as (
  update millrace.outbox_line
  set is_over = false, due_at = $now::text::timestamptz
  where job_id = any (array(select job_id from gone))
  returning job_id, kind, key, due_at, halts
),
arrived as (
  insert into millrace.outbox_inbox (job_id, kind, key, due_at, halts)
  select job_id, kind, key, due_at, halts
  from lined
),
again as (
  insert into millrace.ready (job_id, queue, kind, priority, due_at, lease_ms, run, failures, reason, dedup_key, sibling)
  select
    g.job_id, g.queue, g.kind, coalesce(j.priority, 5),
    case when l.job_id is null then $now::text::timestamptz else 'infinity' end,
    coalesce((j.options ->> 'leaseMs')::bigint, 60000), g.run, 0,
    case when l.job_id is null then 'redrive' else 'line' end,
    j.dedup_key, case when j.dedup_key is null then '' else g.job_id end
  from gone g
  left join lined l on l.job_id = g.job_id
  left join lateral (select * from millrace.jobs j where j.id = g.job_id limit 1) j on true
  on conflict (job_id) do nothing
  returning queue, due_at
),
logged as (
  insert into millrace.journal (
    job_id, at, outcome, run, failures, worker, started_at, due_at, reason, recovered_by, decided_by, why, note, attachment, error
  )
  select
    g.job_id,
    case step when 1 then g.finished_at else $now::text::timestamptz end,
    case step when 1 then g.state else 'redriven' end,
    g.run,
    case step when 1 then g.failures else 0 end,
    case step when 1 then g.worker end,
    case step when 1 then g.started_at end,
    case step when 2 then $now::text::timestamptz end,
    case step when 1 then g.reason end,
    case step when 1 then g.recovered_by end,
    case step when 1 then g.decided_by else $by::text end,
    case step when 1 then g.why end,
    case step when 1 then g.note end,
    case step when 1 then g.attachment end,
    case step when 1 then g.error end
  from gone g
  cross join (values (1), (2)) steps (step)
  order by g.job_id, step
),
hints as (
  select count(pg_notify('{{channel}}', h.hint)) as sent
  from (
    select distinct
      case
        when due_at = 'infinity' then 'outbox'
        else 'due ' || floor(extract(epoch from due_at) * 1000)::bigint || ' ' || queue
      end as hint
    from again
    where $now::text::timestamptz <= $hint_until::text::timestamptz
  ) h
)
select gone.job_id
from gone
where (select sent from hints) is not null`,
)
