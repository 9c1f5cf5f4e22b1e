import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import type { SettledAnswer } from './settle-statements.ts'

export type CompleteParams = {
  /** Fates that are all completions. */
  readonly fates: string
  readonly worker: string
}

// What `settle_runs` does, for a batch in which every run completed and nothing follows: the usual
// one. Nothing returns to the line, no cancel decides over a completion and nobody is hinted, so the
// row that the DELETE gives is the row that is kept: half the statement, and a tenth less of the
// server's time for a job. Guards as there (M1): what misses writes nothing, and a record that is there
// already fails the statement and leaves the lease to recovery.
export const completeRuns: Statement<CompleteParams, SettledAnswer> = statement(
  'complete_runs',
  `
with x as materialized (
  select *
  from json_to_recordset($fates::text::json) as x(
    id text, run int, keep_ms float8, note text, attachment text, result text
  )
),
gone as (
  delete from millrace.leases
  where job_id = any (array(select id from x))
    and ((job_id, run) in (select id, run from x)) is true
    and worker = $worker::text
  returning job_id, run, worker, queue, kind, started_at, failures, dedup_key
),
ended as (
  insert into millrace.finished (
    job_id, state, kind, queue, run, failures, worker, started_at, finished_at, prune_at, note, attachment, result
  )
  select
    g.job_id, 'completed', g.kind, g.queue, g.run, g.failures, g.worker, g.started_at, $now::text::timestamptz,
    $now::text::timestamptz + x.keep_ms * interval '1 millisecond', x.note, x.attachment::json, x.result::json
  from gone g
  join x on x.id = g.job_id and x.run = g.run
),
counted as materialized (
  select count(*) as applied from gone
)
select
  counted.applied::int4 as applied,
  (
    select json_agg(json_build_array(job_id, run, false, dedup_key))::text
    from gone
    where dedup_key is not null
  ) as told,
  case
    when counted.applied < (select count(*) from x)
    then (select json_agg(json_build_array(job_id, run, false, null))::text from gone)
  end as named
from counted`,
)
