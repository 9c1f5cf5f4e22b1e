import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import type { SettledAnswer } from './settle-statements.ts'

export type CompleteParams = {
  /** Fates that are all completions. */
  readonly fates: string
  readonly worker: string
}

/** What completions have in common that leave nothing behind but their records. */
export type CompleteAlikeParams = {
  /** Of the jobs, as a literal of an array. */
  readonly ids: string
  /** Of all of them: nearly always the first. */
  readonly run: number
  /** Null: for ever. */
  readonly keep_ms: number | null
  readonly worker: string
}

const GONE_COLUMNS = 'job_id, run, worker, queue, kind, started_at, failures, dedup_key'

// Short where all is as it was asked, which the number says: no row for each run.
const answerOn = (asked: string): string => `
counted as materialized (
  select count(*) as applied, count(dedup_key) as keyed from gone
)
select
  counted.applied::int4 as applied,
  case
    when counted.keyed > 0
    then (
      select json_agg(json_build_array(job_id, run, false, dedup_key))::text
      from gone
      where dedup_key is not null
    )
  end as told,
  case
    when counted.applied < ${asked}
    then (select json_agg(json_build_array(job_id, run, false, null))::text from gone)
  end as named
from counted`

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
  returning ${GONE_COLUMNS}
),
ended as (
  insert into millrace.finished (
    job_id, state, kind, queue, run, failures, worker, started_at, finished_at, prune_at, note, attachment, result
  )
  select
    g.job_id, 'completed', g.kind, g.queue, g.run, g.failures, g.worker, g.started_at, ${NOW},
    ${NOW} + x.keep_ms * interval '1 millisecond', x.note, x.attachment::json, x.result::json
  from gone g
  join x on x.id = g.job_id and x.run = g.run
),
${answerOn('(select count(*) from x)').trim()}`,
)

// The same for runs of one number that say nothing and are kept equally long: then nothing is joined
// with what was asked, and it is a quarter of the server's time less.
export const completeAlikeRuns: Statement<CompleteAlikeParams, SettledAnswer> = statement(
  'complete_alike_runs',
  `
with gone as (
  delete from millrace.leases
  where job_id = any ($ids::text[]) and run = $run::int and worker = $worker::text
  returning ${GONE_COLUMNS}
),
ended as (
  insert into millrace.finished (
    job_id, state, kind, queue, run, failures, worker, started_at, finished_at, prune_at
  )
  select
    job_id, 'completed', kind, queue, run, failures, worker, started_at, ${NOW},
    (select $now::text::timestamptz + $keep_ms::float8 * interval '1 millisecond')
  from gone
),
${answerOn('cardinality($ids::text[])').trim()}`,
)
