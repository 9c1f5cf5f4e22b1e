import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { DEFAULT_POLICY } from './policy.ts'

/**
 * When the record of a job that ends now in this state may go: what was stamped on it, else the
 * default; never within a minute, so that a repeated enqueue still finds it (E2). For moves whose
 * decision is not made by a worker that knows the job's policy.
 */
export const pruneAt = (id: string, state: 'cancelled' | 'dead'): string => `
    (
      select case
        when coalesce(k.keep, '') = 'null' then null
        else $now::text::timestamptz
          + greatest(60000, coalesce(k.keep::float8, ${KEPT_MS[state]})) * interval '1 millisecond'
      end
      from (select (select (j.options #> '{keep,${state}}')::text from millrace.jobs j where j.id = ${id}) as keep) k
    )`

export interface TrimmedRow {
  readonly trimmed: number
  /** The newest entry there was: where the next pass begins. */
  readonly top: string
}

const SAMPLE_STEP = 97
const MOST_SAMPLES = 10_000

const KEPT_MS = {
  cancelled: DEFAULT_POLICY.keep.cancelled ?? 0,
  dead: DEFAULT_POLICY.keep.dead ?? 0,
}

/** What goes with the records that a CTE deleted: journal, carry, body. Their ids are in `ids.a`. */
export const removedWith = (gone: string): string => `
ids as materialized (
  select coalesce(array_agg(job_id), '{}') as a from ${gone}
),
entries as (
  delete from millrace.journal
  where job_id = any ((select a from ids)::text[])
),
carried as (
  delete from millrace.carries
  where job_id = any ((select a from ids)::text[])
),
bodies as (
  delete from millrace.jobs
  where id = any ((select a from ids)::text[])
)`

// H4: chosen rows (M1); a job that is redriven meanwhile is skipped, or was deleted first and the
// redrive finds nothing: its body never goes without it.
export const pruneJobs: Statement<{ most: number }, { pruned: number }> = statement(
  'prune_jobs',
  `
with due as materialized (
  select ctid as tid
  from millrace.finished
  where prune_at < $now::text::timestamptz
  order by prune_at
  limit $most::int
  for update skip locked
),
gone as (
  delete from millrace.finished
  where ctid = any (array(select tid from due))
  returning job_id
),
${removedWith('gone')}
select cardinality(a)::int4 as pruned
from ids`,
)

// E4: pending jobs past their expiry. Read, then moved by id with the guard repeated, because how
// long the record is kept is stamped on the job.
export const expiredJobs: Statement<{ most: number }, { job_id: string; options: string | null }> =
  statement(
    'expired_jobs',
    `
select r.job_id, j.options::text as options
from (
  select job_id
  from millrace.ready
  where expires_at <= $now::text::timestamptz
  order by expires_at
  limit $most::int
) r
left join lateral (select options from millrace.jobs j where j.id = r.job_id limit 1) j on true`,
  )

export interface ExpiredRow {
  readonly job_id: string
  readonly kind: string
  readonly queue: string
  readonly run: number
}

export const expireJobs: Statement<{ jobs: string }, ExpiredRow> = statement(
  'expire_jobs',
  `
with x as materialized (
  select * from json_to_recordset($jobs::text::json) as x(id text, keep_ms float8)
),
due as materialized (
  select r.ctid as tid
  from millrace.ready r
  where r.job_id = any (array(select id from x))
    and (r.expires_at <= $now::text::timestamptz) is true
  order by r.job_id
  for update skip locked
),
gone as (
  delete from millrace.ready
  where ctid = any (array(select tid from due))
  returning job_id, kind, queue, run, failures
)
insert into millrace.finished (job_id, state, reason, kind, queue, run, failures, finished_at, prune_at)
select
  g.job_id, 'dead', 'expired', g.kind, g.queue, g.run, g.failures, $now::text::timestamptz,
  $now::text::timestamptz + x.keep_ms * interval '1 millisecond'
from gone g
join x on x.id = g.job_id
on conflict (job_id) do nothing
returning job_id, kind, queue, run`,
)

// H4: a job keeps its newest $keep journal entries. Whose journal may be too long is told from a
// sample of the entries written since the last pass: one in 97, which a job that writes a thousand
// of them does not escape. A prime, so that no pattern of writers falls between.
export const trimJournal: Statement<{ after: string; keep: number; most: number }, TrimmedRow> =
  statement(
    'trim_journal',
    `
with latest as materialized (
  select coalesce((select id from millrace.journal order by id desc limit 1), 0) as top
),
span as (
  select top, greatest($after::text::bigint, top - ${SAMPLE_STEP * MOST_SAMPLES}) as bottom
  from latest
),
sampled as materialized (
  select distinct e.job_id
  from span
  cross join lateral generate_series(span.bottom + 1, span.top, ${SAMPLE_STEP}) s (id)
  cross join lateral (select job_id from millrace.journal j where j.id = s.id limit 1) e
),
old as materialized (
  select o.id
  from sampled s
  cross join lateral (
    select id from millrace.journal j where j.job_id = s.job_id order by id desc offset $keep::int limit 1
  ) cut
  cross join lateral (
    select id from millrace.journal j where j.job_id = s.job_id and j.id <= cut.id order by id limit $most::int
  ) o
  limit $most::int
),
gone as (
  delete from millrace.journal
  where id = any (array(select id from old order by id))
  returning id
)
select (select count(*) from gone)::int4 as trimmed, latest.top::text as top
from latest`,
  )
