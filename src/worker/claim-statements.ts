import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/**
 * One probe of the claim index: due rows of one queue and one level, of the kinds of one lane (the
 * kinds without a cap together, each capped kind alone), from a mark on.
 */
export interface ProbeRow {
  readonly turn: number
  readonly queue: string
  readonly level: number
  readonly lane: number
  readonly kinds: readonly string[]
  readonly mark_due: string
  readonly mark_id: string
  /** At most this many rows of this probe. */
  readonly most: number
  /** At most this many rows of the lane over all queues and levels, and of the queue over all levels. */
  readonly lane_most: number
  readonly queue_most: number
  /** With rotation: the places in the queue's share of the claim that are reserved for this level. */
  readonly places?: readonly number[]
}

export interface ClaimedRow {
  readonly job_id: string
  readonly run: number
  readonly kind: string
  readonly queue: string
  readonly priority: number
  readonly failures: number
  readonly due_at: number
  readonly lease_ms: number
  readonly lease_ends_at: number
  readonly payload: string | null
  readonly options: string | null
  /** Left by an earlier run; null: the kind's default. */
  readonly carry: string | null
}

/** A level of a queue in which something of a lane's kinds is due. */
export interface WaitingRow {
  readonly queue: string
  readonly level: number
  readonly lane: number
}

export interface ClaimParams extends Readonly<Record<string, string | number | null>> {
  readonly probes: string
  readonly most: number
  readonly worker: string
  readonly now: string
}

// Behind every place of a claim.
const LAST_PLACE = 1_000

const PROBES = `
p as materialized (
  select *
  from json_to_recordset($probes::text::json) as p(
    turn int, queue text, level smallint, lane int, kinds text[],
    mark_due timestamptz, mark_id text, most int, lane_most int, queue_most int, places int[]
  )
)`

// Future rows are never walked: the probe stops at $now. A row comparison with the mark is an index
// condition, so dead entries before it are not walked either.
const DUE_ROWS = `
  from p
  cross join lateral (
    select r.ctid as tid, r.due_at, r.job_id
    from millrace.ready r
    where r.queue = p.queue
      and r.priority = p.level
      and (r.due_at, r.job_id) >= (p.mark_due, p.mark_id)
      and r.due_at <= $now::text::timestamptz
      and r.kind = any (p.kinds)
      and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
    order by r.due_at, r.job_id
    limit p.most
    for update skip locked
  ) d`

// Only what the limit pulls is locked: probes come in the order of their turn.
const FIRST_DUE = `
chosen as materialized (
  select d.tid
  ${DUE_ROWS}
  limit $most::int
)`

// With caps a lane or a queue may find more than it may take; the rest is unlocked when the
// statement ends. A lane's cap counts over queues, a queue's over lanes. Where levels take turns a
// row's place is the one its level has for it; what has none there comes first: a level better than
// all that were known to wait.
const WITHIN_CAPS = `
found as materialized (
  select
    d.tid, d.due_at, d.job_id, p.turn, p.level, p.lane, p.lane_most, p.queue_most, p.places,
    row_number() over (partition by p.turn, p.level order by d.due_at, d.job_id) as place_in_level
  ${DUE_ROWS}
),
in_turns as (
  select f.*, case when f.places is null then 0 else coalesce(f.places[f.place_in_level], ${LAST_PLACE}) end as place
  from found f
),
in_lanes as (
  select
    t.*,
    row_number() over (partition by t.lane order by t.turn, t.place, t.level, t.due_at, t.job_id) as place_in_lane
  from in_turns t
),
in_queues as (
  select
    l.*,
    row_number() over (partition by l.turn order by l.place, l.level, l.due_at, l.job_id) as place_in_queue
  from in_lanes l
  where l.place_in_lane <= l.lane_most
),
chosen as materialized (
  select q.tid
  from in_queues q
  where q.place_in_queue <= q.queue_most
  order by q.turn, q.place, q.level, q.due_at, q.job_id
  limit $most::int
)`

// Exact to the microsecond, and in float8 all the way: `extract` computes in numeric, which for two
// instants a row is a fifteenth of the server's time for a claim.
const milliseconds = (column: string): string =>
  `round(date_part('epoch', ${column}) * 1000000) / 1000`

// M1: the rows that were chosen and locked are deleted by ctid, all else reads what the DELETE
// returned. A stray lease never fails a claim (C8); it is looked for, since `on conflict` writes a
// record a row to the WAL (48 bytes). A missing body comes back as NULL. What a job carries was left by
// a run or a merge: most first runs need not look.
const take = (leaseMs: string): string => `
gone as (
  delete from millrace.ready
  where ctid = any (array(select tid from chosen))
  returning job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, dedup_key
),
leased as (
  insert into millrace.leases (
    job_id, worker, queue, kind, priority, started_at, lease_ends_at, due_at, expires_at, lease_ms, run, failures, dedup_key
  )
  select
    job_id, $worker::text, queue, kind, priority, ${NOW}, ${NOW} + ${leaseMs} * interval '1 millisecond',
    due_at, expires_at, lease_ms, run + 1, failures, dedup_key
  from gone
  where (select true from millrace.leases l where l.job_id = gone.job_id limit 1) is not true
  returning job_id, run, kind, queue, priority, failures, due_at, lease_ms, lease_ends_at, dedup_key
)
select
  l.job_id, l.run, l.kind, l.queue, l.priority::int4 as priority, l.failures,
  ${milliseconds('l.due_at')} as due_at,
  l.lease_ms::float8 as lease_ms,
  ${milliseconds('l.lease_ends_at')} as lease_ends_at,
  j.payload::text as payload,
  j.options::text as options,
  case
    when l.run > 1 or l.dedup_key is not null
    then (select c.carry::text from millrace.carries c where c.job_id = l.job_id)
  end as carry
from leased l
left join lateral (select payload, options from millrace.jobs j where j.id = l.job_id limit 1) j on true`

export const claimJobs: Statement<ClaimParams, ClaimedRow> = statement(
  'claim_jobs',
  `with ${PROBES}, ${FIRST_DUE}, ${take('lease_ms')}`,
)

export const claimJobsWithinCaps: Statement<ClaimParams, ClaimedRow> = statement(
  'claim_jobs_within_caps',
  `with ${PROBES}, ${WITHIN_CAPS}, ${take('lease_ms')}`,
)

// L4: the lease may be the caller's own; what is due again later keeps that of the job.
export const claimHandles: Statement<ClaimParams & { lease_ms: number | null }, ClaimedRow> =
  statement(
    'claim_handles',
    `with ${PROBES}, ${FIRST_DUE}, ${take('coalesce($lease_ms::float8, lease_ms)')}`,
  )

// C3: which levels have something to give, known before their shares are reserved. A probe stops at
// its first row; rows that somebody else just locked count, and fall back if they are gone. A probe
// without one has walked to the present, as a claim would.
export const waitingLevels: Statement<{ probes: string; now: string }, WaitingRow> = statement(
  'waiting_levels',
  `
with ${PROBES}
select p.queue, p.level::int4 as level, p.lane
from p
cross join lateral (
  select 1
  from millrace.ready r
  where r.queue = p.queue
    and r.priority = p.level
    and (r.due_at, r.job_id) >= (p.mark_due, p.mark_id)
    and r.due_at <= $now::text::timestamptz
    and r.kind = any (p.kinds)
    and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
  order by r.due_at, r.job_id
  limit 1
) d`,
)

// C7: the soonest due row of each queue and level, past ones (locked by others) included.
export const nextDue: Statement<{ probes: string }, { due_at: number | null }> = statement(
  'next_due',
  `
with ${PROBES}
select (extract(epoch from min(d.due_at)) * 1000)::float8 as due_at
from p
cross join lateral (
  select r.due_at
  from millrace.ready r
  where r.queue = p.queue
    and r.priority = p.level
    and (r.due_at, r.job_id) >= (p.mark_due, p.mark_id)
    and r.kind = any (p.kinds)
    and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
  order by r.due_at
  limit 1
) d`,
)

/** The first due row that a mark would hide; where none is, the probe has no row. */
export interface HiddenRow {
  readonly queue: string
  readonly level: number
  readonly lane: number
  readonly due_at: number
  readonly job_id: string
}

// A commit that came late lies before the mark. The walk from the start steps over every dead entry
// there, so it only looks, and never on the connection that claims.
export const lookBeforeMarks: Statement<{ probes: string }, HiddenRow> = statement(
  'look_before_marks',
  `
with ${PROBES}
select p.queue, p.level::int4 as level, p.lane, (extract(epoch from d.due_at) * 1000)::float8 as due_at, d.job_id
from p
cross join lateral (
  select r.due_at, r.job_id
  from millrace.ready r
  where r.queue = p.queue
    and r.priority = p.level
    and (r.due_at, r.job_id) < (p.mark_due, p.mark_id)
    and r.kind = any (p.kinds)
    and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
  order by r.due_at, r.job_id
  limit 1
) d`,
)
