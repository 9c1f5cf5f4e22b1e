import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** A job and everything that may keep it from being claimed; what is of no concern to its state is null or 0. */
export interface ExplainRow {
  readonly state: 'pending' | 'running' | 'completed' | 'dead' | 'cancelled'
  readonly kind: string
  readonly queue: string
  /** Why it is back in line, or why it is dead. */
  readonly reason: string | null
  readonly due_at: number | null
  readonly expires_at: number | null
  readonly dedup_key: string | null
  /** The running job that holds its key, where the ask waits for that. */
  readonly held_by: string | null
  /** The message that has the turn of its key, where it is one that waits in line; dead: it halts the key. */
  readonly turn_of: string | null
  readonly is_halted: boolean
  readonly worker: string | null
  readonly started_at: number | null
  readonly finished_at: number | null
  readonly paused_at: number | null
  /** Workers that claim its kind from its queue. */
  readonly alive: number
  readonly last_seen_at: number | null
  /** How many more such jobs they would take now. */
  readonly free: number
  /** Over those of them that are at a limit: what runs, and the limit. */
  readonly full_running: number
  readonly full_cap: number
  readonly queue_running: number
  readonly queue_cap: number
  readonly kind_running: number
  readonly kind_cap: number
  /** Due before it, of the kinds that those workers claim. */
  readonly better: number
  readonly earlier: number
}

export type ExplainParams = {
  readonly id: string
  /** Workers seen from then on live. */
  readonly alive_after: string
  readonly now: string
}

/** What stands before a job is counted up to here, better levels and its own apart. */
export const AHEAD_LIMIT = 10_000

// As the claim sees them: due, not expired, of a kind that is claimed there.
const CLAIMABLE = `
        r.due_at <= $now::text::timestamptz
        and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
        and (k.kinds is null or r.kind = any (k.kinds))`

// H3: one snapshot over everything the claim decides by. Slots are counted by the leases that are
// there, not by what a worker last told of itself.
export const explainJob: Statement<ExplainParams, ExplainRow> = statement(
  'explain_job',
  `
with job as materialized (
  select
    j.id,
    case when r.job_id is not null then 'pending' when l.job_id is not null then 'running' else f.state end as state,
    coalesce(r.kind, l.kind, f.kind) as kind,
    coalesce(r.queue, l.queue, f.queue) as queue,
    coalesce(r.reason, f.reason) as reason,
    r.priority, r.due_at, r.expires_at, r.dedup_key,
    coalesce(l.worker, f.worker) as worker,
    coalesce(l.started_at, f.started_at) as started_at,
    f.finished_at
  from millrace.jobs j
  left join lateral (select * from millrace.ready r where r.job_id = j.id limit 1) r on true
  left join lateral (select * from millrace.leases l where l.job_id = j.id limit 1) l on true
  left join lateral (select * from millrace.finished f where f.job_id = j.id limit 1) f on true
  where j.id = $id::text
    and coalesce(r.job_id, l.job_id, f.job_id) is not null
),
able as materialized (
  select
    w.worker, w.seen_at, w.kinds, w.concurrency as cap,
    (w.queues ->> job.queue)::int4 as queue_cap,
    (w.kinds ->> job.kind)::int4 as kind_cap
  from job
  join millrace.workers w on (w.kinds -> job.kind) is not null and (w.queues -> job.queue) is not null
  where job.state = 'pending'
),
used as materialized (
  select
    l.worker, count(*) as running,
    count(*) filter (where l.queue = job.queue) as of_queue,
    count(*) filter (where l.kind = job.kind) as of_kind
  from millrace.leases l
  cross join job
  where l.worker in (select worker from able)
  group by l.worker
),
alive as materialized (
  select a.*, coalesce(u.running, 0) as running, coalesce(u.of_queue, 0) as of_queue, coalesce(u.of_kind, 0) as of_kind
  from able a
  left join used u on u.worker = a.worker
  where a.seen_at > $alive_after::text::timestamptz
),
limited as (
  select
    a.*,
    case
      when a.running >= a.cap then 'worker'
      when a.of_queue >= a.queue_cap then 'queue'
      when a.of_kind >= a.kind_cap then 'kind'
    end as at_limit,
    greatest(0, least(a.cap - a.running, a.queue_cap - a.of_queue, a.kind_cap - a.of_kind)) as free
  from alive a
),
slots as (
  select
    count(*) as alive, coalesce(sum(free), 0) as free,
    coalesce(sum(running) filter (where at_limit = 'worker'), 0) as full_running,
    coalesce(sum(cap) filter (where at_limit = 'worker'), 0) as full_cap,
    coalesce(sum(of_queue) filter (where at_limit = 'queue'), 0) as queue_running,
    coalesce(sum(queue_cap) filter (where at_limit = 'queue'), 0) as queue_cap,
    coalesce(sum(of_kind) filter (where at_limit = 'kind'), 0) as kind_running,
    coalesce(sum(kind_cap) filter (where at_limit = 'kind'), 0) as kind_cap
  from limited
),
k as materialized (
  select array_agg(distinct n.kind) as kinds
  from alive a
  cross join lateral json_object_keys(a.kinds) n (kind)
),
better as (
  select count(*) as jobs
  from (
    select 1
    from job
    cross join k
    cross join generate_series(0, 9) p (level)
    cross join lateral (
      select 1
      from millrace.ready r
      where r.queue = job.queue
        and r.priority = p.level::smallint
        and ${CLAIMABLE}
      order by r.due_at, r.job_id
      limit ${AHEAD_LIMIT}
    ) r
    where p.level < job.priority
    limit ${AHEAD_LIMIT}
  ) b
),
earlier as (
  select count(*) as jobs
  from job
  cross join k
  cross join lateral (
    select 1
    from millrace.ready r
    where r.queue = job.queue
      and r.priority = job.priority
      and (r.due_at, r.job_id) < (job.due_at, job.id)
      and ${CLAIMABLE}
    order by r.due_at, r.job_id
    limit ${AHEAD_LIMIT}
  ) e
)
select
  job.state, job.kind, job.queue, job.reason,
  (extract(epoch from job.due_at) * 1000)::float8 as due_at,
  (extract(epoch from job.expires_at) * 1000)::float8 as expires_at,
  job.dedup_key,
  (
    select min(l.job_id)
    from millrace.leases l
    where job.reason = 'rerun' and l.kind = job.kind and l.dedup_key = job.dedup_key
  ) as held_by,
  turn.job_id as turn_of,
  coalesce((select f.state = 'dead' from millrace.finished f where f.job_id = turn.job_id), false) as is_halted,
  job.worker,
  (extract(epoch from job.started_at) * 1000)::float8 as started_at,
  (extract(epoch from job.finished_at) * 1000)::float8 as finished_at,
  (select (extract(epoch from q.paused_at) * 1000)::float8 from millrace.queues q where q.queue = job.queue) as paused_at,
  slots.alive::float8 as alive,
  (select (extract(epoch from max(seen_at)) * 1000)::float8 from able) as last_seen_at,
  slots.free::float8 as free,
  slots.full_running::float8 as full_running,
  slots.full_cap::float8 as full_cap,
  slots.queue_running::float8 as queue_running,
  slots.queue_cap::float8 as queue_cap,
  slots.kind_running::float8 as kind_running,
  slots.kind_cap::float8 as kind_cap,
  better.jobs::float8 as better,
  earlier.jobs::float8 as earlier
from job
cross join slots
cross join better
cross join earlier
left join lateral (
  select h.job_id
  from millrace.outbox_heads h
  where job.reason = 'line' and h.kind = job.kind and h.key = job.dedup_key
  limit 1
) turn on true`,
)
