import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { ASK_COLUMNS, hintsOf, insertAsks } from '../jobs/enqueue-statements.ts'
import type { AskRow } from '../jobs/enqueue-statements.ts'

/** What becomes of one run. Members that are not there are NULL, so that a plain completion is short. */
export interface FateRow {
  readonly id: string
  readonly run: number
  /** The owner, where it is not the settling worker itself. */
  readonly worker?: string
  readonly outcome: 'completed' | 'paused' | 'retried' | 'released' | 'dead' | 'stale-recovered'
  readonly reason?: string
  /** Failures from now on; not there: as before. */
  readonly failures?: number
  /** Due so long from now; not there: its old place in line. */
  readonly delay_ms?: number
  /** How long its record is kept once it ended; not there: for ever. */
  readonly keep_ms?: number | undefined
  /** The same, if a cancel that was asked meanwhile decides. */
  readonly cancelled_keep_ms?: number
  /** The carry for the next run; not there: as it was. */
  readonly carry?: string
  readonly note?: string | undefined
  readonly attachment?: string | undefined
  readonly result?: string | undefined
  readonly error?: string
}

/** A job to enqueue if, and only if, the run it follows is settled as it said. */
export interface FollowUpRow extends AskRow {
  readonly after_id: string
  readonly after_run: number
}

const FATES = `
x as materialized (
  select *
  from json_to_recordset($fates::text::json) as x(
    id text, run int, worker text, outcome text, reason text, failures int, delay_ms float8, keep_ms float8,
    cancelled_keep_ms float8, carry text, note text, attachment text, result text, error text
  )
)`

const GONE_COLUMNS = `
  job_id, run, worker, queue, kind, priority, started_at, due_at, expires_at, lease_ms, failures, dedup_key,
  cancel_requested_at, cancel_by, cancel_why`

/**
 * Where a job goes once its lease is gone: back into line with a journal entry, or among the
 * finished. Everything reads the rows that the DELETE returned, so a fate whose guard missed
 * writes nothing at all. A cancel that was asked decides over every ending but a return (X1). A job
 * that returns stands beside a twin of its key (sibling = its id, D5): it never fails on one and
 * never waits for an ask that is not committed.
 */
const routes = (recoveredBy: string, { unlessEnded, ifEnded, ifWaiting }: Collisions): string => `
fate as materialized (
  select
    g.job_id, g.run, g.worker, g.queue, g.kind, g.priority, g.started_at, g.expires_at, g.lease_ms, g.dedup_key,
    case when c.is_cancelled then 'cancelled' else x.outcome end as outcome,
    case when not c.is_cancelled then x.reason end as reason,
    case when not c.is_cancelled then x.error end as error,
    case when c.is_cancelled then g.cancel_by end as decided_by,
    case when c.is_cancelled then g.cancel_why end as why,
    x.carry, x.note, x.attachment, x.result,
    case when c.is_cancelled then g.failures else coalesce(x.failures, g.failures) end as failures,
    coalesce(${NOW} + x.delay_ms * interval '1 millisecond', g.due_at) as due_at,
    ${NOW}
      + case when c.is_cancelled then x.cancelled_keep_ms else x.keep_ms end * interval '1 millisecond' as prune_at,
    not c.is_cancelled
      and x.outcome in ('paused', 'retried', 'released', 'stale-recovered')${unlessEnded} as goes_on
  from gone g
  join x on x.id = g.job_id and x.run = g.run
  cross join lateral (select g.cancel_requested_at is not null and x.outcome <> 'completed' as is_cancelled) c
),
again as (
  insert into millrace.ready as place (
    job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, reason, dedup_key, sibling
  )
  select
    job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, reason, dedup_key,
    case when dedup_key is null then '' else job_id end
  from fate
  where goes_on
  on conflict (job_id) ${ifWaiting}
  returning queue, due_at
),
ended as (
  insert into millrace.finished (
    job_id, state, reason, kind, queue, run, failures, worker, recovered_by, started_at, finished_at, prune_at,
    decided_by, why, note, attachment, result, error
  )
  select
    job_id, outcome, reason, kind, queue, run, failures, worker, ${recoveredBy}, started_at, ${NOW}, prune_at,
    decided_by, why, note, attachment::json, result::json, error::json
  from fate
  where outcome in ('completed', 'dead', 'cancelled')${ifEnded}
),
logged as (
  insert into millrace.journal (
    job_id, at, outcome, run, failures, worker, recovered_by, started_at, due_at, note, attachment, error
  )
  select
    job_id, ${NOW}, outcome, run, failures, worker, ${recoveredBy}, started_at, due_at,
    note, attachment::json, error::json
  from fate
  where goes_on
),
carried as (
  insert into millrace.carries (job_id, carry)
  select job_id, carry::json
  from fate
  where carry is not null and goes_on and outcome in ('paused', 'retried')
  on conflict (job_id) do update set carry = excluded.carry
)`

/** What a job meets that is in two places: a lease has no business beside another place (race 14). */
interface Collisions {
  readonly unlessEnded: string
  readonly ifEnded: string
  readonly ifWaiting: string
}

// A completion fails on the record that is there, since `on conflict` costs a WAL record a row (48
// bytes), and a look at `finished` a plan that is kept might make in the wrong index: the lease is
// left to recovery.
const BY_ITS_RUN: Collisions = { unlessEnded: '', ifEnded: '', ifWaiting: 'do nothing' }

// The job stays as it ended. The row that waits is written again (M4): a claim whose snapshot still
// has the lease would take it and leave it to that lease.
const BY_RECOVERY: Collisions = {
  unlessEnded: `
      and (select true from millrace.finished f where f.job_id = g.job_id limit 1) is not true`,
  ifEnded: `
  on conflict (job_id) do nothing`,
  ifWaiting: 'do update set due_at = place.due_at',
}

const SETTLED = `
select fate.job_id, fate.run, fate.outcome, fate.kind, fate.queue, fate.worker, fate.dedup_key
from fate
where (select sent from hints) is not null`

export interface MovedRow {
  readonly job_id: string
  readonly run: number
}

/** What a fate came to: `cancelled` where a cancel was asked meanwhile. */
export interface SettledRow extends MovedRow {
  readonly outcome: FateRow['outcome'] | 'cancelled'
  readonly kind: string
  readonly queue: string
  /** Who ran it. */
  readonly worker: string
  readonly dedup_key: string | null
}

/** What became of a batch of runs: how many fates applied, and which need a word. */
export interface SettledAnswer {
  readonly applied: number
  /** JSON: [id, run, cancelled, dedup key] of those that were cancelled, or have a key; null: none. */
  readonly told: string | null
  /** The same of all that applied, where some did not; else null. */
  readonly named: string | null
}

export type SettleParams = {
  readonly fates: string
  readonly follow_ups: string
  readonly worker: string
  readonly hint_until: string
}

// Given ids (M1): by key, the guard as a membership that no index serves. `using x` would walk all
// leases or compare every pair; deleting by ctid would miss a lease that a renewal just rewrote.
const SETTLE = `
with ${FATES},
gone as (
  delete from millrace.leases
  where job_id = any (array(select id from x))
    and ((job_id, run) in (select id, run from x)) is true
    and worker = $worker::text
  returning ${GONE_COLUMNS}
),
${routes('null::text', BY_ITS_RUN)},
follow as materialized (
  select a.*
  from json_to_recordset($follow_ups::text::json) as a(after_id text, after_run int, ${ASK_COLUMNS}
  )
  join fate f on f.job_id = a.after_id and f.run = a.after_run and f.outcome in ('completed', 'paused')
),
${insertAsks('follow')},
placed as (
  select queue, due_at from again
  union all
  select queue, due_at from place
),
${hintsOf('placed')}`

// The answer to many is short: who asked knows all but what it names.
export const settleRuns: Statement<SettleParams, SettledAnswer> = statement(
  'settle_runs',
  `${SETTLE},
counted as materialized (
  select count(*) as applied from fate
)
select
  counted.applied::int4 as applied,
  (
    select json_agg(json_build_array(job_id, run, outcome = 'cancelled', dedup_key))::text
    from fate
    where outcome = 'cancelled' or dedup_key is not null
  ) as told,
  case
    when counted.applied < (select count(*) from x)
    then (select json_agg(json_build_array(job_id, run, false, null))::text from fate)
  end as named
from counted
where (select sent from hints) is not null`,
)

// The same for a run whose settlement has a transaction of its own.
export const settleRun: Statement<SettleParams, SettledRow> = statement(
  'settle_run',
  `${SETTLE}${SETTLED}`,
)

// A settlement whose answer was lost (M8), or that missed: which of these runs did settle themselves?
// What somebody else recorded of the run (recovered_by) is not its own settlement. Scalar subqueries,
// since `exists` would be answered by a hash of the whole table where statistics are stale.
export const settledRuns: Statement<{ runs: string; worker: string }, MovedRow> = statement(
  'settled_runs',
  `
with x as materialized (
  select * from json_to_recordset($runs::text::json) as x(id text, run int)
)
select x.id as job_id, x.run
from x
where coalesce(
  (
    select true from millrace.finished f
    where f.job_id = x.id and f.run = x.run and f.worker = $worker::text and f.recovered_by is null
    limit 1
  ),
  (
    select true from millrace.journal e
    where e.job_id = x.id and e.run = x.run and e.worker = $worker::text and e.recovered_by is null
    limit 1
  ),
  false
)`,
)

// Chosen rows (M1), with the owner and "still lapsed" repeated: a lease that its owner renewed or
// settled since it was read stays as it is, and one that is being renewed right now is skipped. `is
// true` keeps the planner by the ids: the index on the end would give all that ever lapsed.
export const recoverRuns: Statement<
  { fates: string; recovered_by: string | null; lapsed_before: string; hint_until: string },
  SettledRow
> = statement(
  'recover_runs',
  `
with ${FATES},
due as materialized (
  select l.ctid as tid
  from millrace.leases l
  where l.job_id = any (array(select id from x))
    and ((l.job_id, l.run, l.worker) in (select id, run, worker from x)) is true
    and (l.lease_ends_at < $lapsed_before::text::timestamptz) is true
  order by l.job_id
  for update skip locked
),
gone as (
  delete from millrace.leases
  where ctid = any (array(select tid from due))
  returning ${GONE_COLUMNS}
),
${routes('$recovered_by::text', BY_RECOVERY)},
${hintsOf('again')}
${SETTLED}`,
)
