import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { pruneAt } from './retention-statements.ts'

export type CancelParams = {
  readonly ids: string
  /** Where a job may stand to be cancelled: pending, running, or both. */
  readonly states: string
  readonly by: string | null
  readonly why: string | null
  readonly hint_until: string
}

/** What was cancelled, or asked to end: then all but the id is null. The key where a run was ended here. */
export interface CancelledRow {
  readonly job_id: string
  readonly kind: string | null
  readonly queue: string | null
  readonly run: number | null
  readonly dedup_key: string | null
}

// Rows that somebody holds are skipped and asked for again by the caller, so that a cancel of many
// waits for nobody while it holds others: an application's open merge would else hold up the
// settlements of every run in the batch (M7).
const PENDING = `
waiting as materialized (
  select job_id
  from millrace.ready
  where job_id = any ($ids::text::text[])
    and 'pending' = any ($states::text::text[])
  order by job_id
  for update skip locked
),
gone as (
  delete from millrace.ready
  where job_id = any (array(select job_id from waiting))
  returning job_id, kind, queue, run, failures
)`

// The worker is told by its name, in the same commit; it then asks which of its runs are meant.
const toldWorkers = (touched: string): string => `
hints as (
  select count(pg_notify('{{channel}}', 'cancel ' || h.worker)) as sent
  from (select distinct worker from ${touched} where $now::text::timestamptz <= $hint_until::text::timestamptz) h
)`

// X1: a pending job ends at once; of a running one the cancel is asked, and settle_runs or
// recover_runs decide by what they find on the lease. The first who asked stays recorded, but the
// worker is told again. An update of no key column: it passes the lock of run.transaction.
export const cancelJobs: Statement<CancelParams, CancelledRow> = statement(
  'cancel_jobs',
  `
with ${PENDING},
ended as (
  insert into millrace.finished (
    job_id, state, kind, queue, run, failures, finished_at, prune_at, decided_by, why
  )
  select
    g.job_id, 'cancelled', g.kind, g.queue, g.run, g.failures, $now::text::timestamptz,
    ${pruneAt('g.job_id', 'cancelled')}, $by::text, $why::text
  from gone g
  on conflict (job_id) do nothing
),
running as materialized (
  select job_id
  from millrace.leases
  where job_id = any ($ids::text::text[])
    and 'running' = any ($states::text::text[])
  order by job_id
  for no key update skip locked
),
asked as (
  update millrace.leases
  set
    cancel_requested_at = coalesce(cancel_requested_at, $now::text::timestamptz),
    cancel_by = case when cancel_requested_at is null then $by::text else cancel_by end,
    cancel_why = case when cancel_requested_at is null then $why::text else cancel_why end
  where job_id = any (array(select job_id from running))
  returning job_id, worker
),
${toldWorkers('asked')}
select done.job_id, done.kind, done.queue, done.run, null::text as dedup_key
from (
  select job_id, kind, queue, run from gone
  union all
  select job_id, null::text, null::text, null::int4 from asked
) done
where (select sent from hints) is not null`,
)

// X1, force: the lease is taken, the run is void from now on; its settlement will find nothing and
// its worker learns it by the same hint. `recovered_by` says that it is not the run's own record. A
// run inside run.transaction holds its lease against this: it is skipped until that has ended.
export const forceCancelJobs: Statement<CancelParams, CancelledRow> = statement(
  'force_cancel_jobs',
  `
with ${PENDING},
running as materialized (
  select job_id
  from millrace.leases
  where job_id = any ($ids::text::text[])
    and 'running' = any ($states::text::text[])
  order by job_id
  for update skip locked
),
taken as (
  delete from millrace.leases
  where job_id = any (array(select job_id from running))
  returning job_id, kind, queue, run, failures, worker, started_at, dedup_key
),
done as (
  select job_id, kind, queue, run, failures, null::text as worker, null::timestamptz as started_at, null::text as dedup_key
  from gone
  union all
  select job_id, kind, queue, run, failures, worker, started_at, dedup_key
  from taken
),
ended as (
  insert into millrace.finished (
    job_id, state, kind, queue, run, failures, worker, recovered_by, started_at, finished_at, prune_at, decided_by, why
  )
  select
    d.job_id, 'cancelled', d.kind, d.queue, d.run, d.failures, d.worker,
    case when d.worker is not null then 'forced' end, d.started_at, $now::text::timestamptz,
    ${pruneAt('d.job_id', 'cancelled')}, $by::text, $why::text
  from done d
  on conflict (job_id) do nothing
),
${toldWorkers('taken')}
select done.job_id, done.kind, done.queue, done.run, done.dedup_key
from done
where (select sent from hints) is not null`,
)
