import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface HeldRow {
  readonly job_id: string
  readonly run: number
  readonly lease_ends_at: number
}

const RUNS = `
x as materialized (
  select * from json_to_recordset($runs::text::json) as x(id text, run int)
)`

// L1: names the runs, never the worker alone, so that a stray lease of a claim whose answer was lost
// is not kept alive. A row that somebody holds is skipped, and renewed within a second.
export const renewLeases: Statement<{ runs: string; worker: string }, HeldRow> = statement(
  'renew_leases',
  `
with ${RUNS},
held as materialized (
  select l.job_id
  from millrace.leases l
  where l.job_id = any (array(select id from x))
    and ((l.job_id, l.run) in (select id, run from x)) is true
    and l.worker = $worker::text
  order by l.job_id
  for no key update skip locked
)
update millrace.leases l
set lease_ends_at = greatest(l.lease_ends_at, ${NOW} + l.lease_ms * interval '1 millisecond')
where l.job_id = any (array(select job_id from held))
returning l.job_id, l.run, (extract(epoch from l.lease_ends_at) * 1000)::float8 as lease_ends_at`,
)

// What a renewal did not return was skipped or is lost; only a second look tells.
export const heldLeases: Statement<{ runs: string; worker: string }, HeldRow> = statement(
  'held_leases',
  `
with ${RUNS}
select l.job_id, l.run, (extract(epoch from l.lease_ends_at) * 1000)::float8 as lease_ends_at
from millrace.leases l
where l.job_id = any (array(select id from x))
  and ((l.job_id, l.run) in (select id, run from x)) is true
  and l.worker = $worker::text`,
)

/** A lease somebody must decide about, with what the decision needs. */
export interface LapsedRow {
  readonly job_id: string
  readonly run: number
  readonly worker: string
  readonly kind: string
  readonly failures: number
  readonly started_at: number
  readonly lease_ends_at: number
  readonly options: string | null
}

const DECISION_COLUMNS = `
  l.job_id, l.run, l.worker, l.kind, l.failures,
  (extract(epoch from l.started_at) * 1000)::float8 as started_at,
  (extract(epoch from l.lease_ends_at) * 1000)::float8 as lease_ends_at,
  j.options::text as options`

// The head of the index, from a mark on: what lapsed, and what will before the next look unless it is renewed.
export const lapsedLeases: Statement<{ mark: string; until: string; most: number }, LapsedRow> =
  statement(
    'lapsed_leases',
    `
select ${DECISION_COLUMNS}
from (
  select *
  from millrace.leases
  where lease_ends_at >= $mark::text::timestamptz
    and lease_ends_at < $until::text::timestamptz
  order by lease_ends_at
  limit $most::int
) l
left join lateral (select options from millrace.jobs j where j.id = l.job_id limit 1) j on true
order by l.lease_ends_at`,
  )

// C8: leases of this worker from the instants of claims whose answers did not arrive.
export const strayLeases: Statement<{ worker: string; instants: string }, LapsedRow> = statement(
  'stray_leases',
  `
select ${DECISION_COLUMNS}
from millrace.leases l
left join lateral (select options from millrace.jobs j where j.id = l.job_id limit 1) j on true
where l.worker = $worker::text
  and l.started_at = any ($instants::text::timestamptz[])`,
)

// O4: held until the transaction ends. Renewals (no key update) and cancels pass a key share lock,
// whoever would take the job waits or skips.
export const lockLease: Statement<{ id: string; run: number; worker: string }, { locked: number }> =
  statement(
    'lock_lease',
    `
select 1 as locked
from millrace.leases
where job_id = $id::text and run = $run::int and worker = $worker::text
for key share`,
  )

// A handler that never comes back, or a host that died without a word, must not hold its lease's lock for ever.
// The transaction is known by its session and its beginning, in microseconds.
export const boundTransaction: Statement<
  { idle_ms: string },
  { bound: string; pid: number; began: string }
> = statement(
  'bound_transaction',
  `
select
  set_config('idle_in_transaction_session_timeout', $idle_ms::text, true) as bound,
  pid,
  (extract(epoch from xact_start) * 1000000)::bigint::text as began
from pg_catalog.pg_stat_activity
where pid = pg_backend_pid()`,
)

// The session of a transaction whose run was decided otherwise; it is ours, and used no more. Behind a
// pooler it is another's once the transaction is over: then nothing is ended.
export const endTransaction: Statement<{ pid: number; began: string }, { ended: boolean }> =
  statement(
    'end_transaction',
    `
select pg_terminate_backend(pid) as ended
from pg_catalog.pg_stat_activity
where pid = $pid::int and (extract(epoch from xact_start) * 1000000)::bigint = $began::text::bigint`,
  )

// Whether the session may still have this transaction open. The state is null or `disabled` where the
// server does not tell this role of it, or anybody.
export const openTransaction: Statement<{ pid: number; began: string }, { pid: number }> =
  statement(
    'open_transaction',
    `
select pid
from pg_catalog.pg_stat_activity
where pid = $pid::int
  and state is distinct from 'idle'
  and coalesce((extract(epoch from xact_start) * 1000000)::bigint = $began::text::bigint, true)`,
  )

// Before the first statement of a transaction that is not ours.
export const readCommitted: Statement<Record<string, never>, never> = statement(
  'read_committed',
  'set transaction isolation level read committed',
)

// O6: guarded like every write of a run; the row lock keeps the lease from being taken meanwhile.
export const saveCarry: Statement<
  { id: string; run: number; worker: string; carry: string },
  { job_id: string }
> = statement(
  'save_carry',
  `
with held as materialized (
  select job_id
  from millrace.leases
  where job_id = $id::text and run = $run::int and worker = $worker::text
  for key share
)
insert into millrace.carries (job_id, carry)
select job_id, $carry::text::json
from held
on conflict (job_id) do update set carry = excluded.carry
returning job_id`,
)

// For people only: a row that somebody holds is skipped, and told of with the next word.
export const saveProgress: Statement<{ runs: string; worker: string }, { job_id: string }> =
  statement(
    'save_progress',
    `
with x as materialized (
  select * from json_to_recordset($runs::text::json) as x(id text, run int, done float8, total float8)
),
held as materialized (
  select l.job_id
  from millrace.leases l
  where l.job_id = any (array(select id from x))
    and ((l.job_id, l.run) in (select id, run from x)) is true
    and l.worker = $worker::text
  order by l.job_id
  for no key update skip locked
)
update millrace.leases l
set
  progress_done = (select x.done from x where x.id = l.job_id and x.run = l.run),
  progress_total = (select x.total from x where x.id = l.job_id and x.run = l.run)
where l.job_id = any (array(select job_id from held))
returning l.job_id`,
  )
