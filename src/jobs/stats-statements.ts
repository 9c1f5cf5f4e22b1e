import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** A queue and a kind; queue and kind are null in the one row there is when nothing is. */
export interface StatsRow {
  readonly queue: string | null
  readonly kind: string | null
  readonly due: number
  readonly scheduled: number
  readonly retrying: number
  readonly paused: number
  readonly running: number
  readonly dead: number
  readonly oldest_due_at: number | null
  readonly enqueued: number
  readonly completed: number
  readonly failed: number
  /** Of this queue more is due, or waits for its time, than was counted. */
  readonly has_more_due: boolean
  readonly has_more_waiting: boolean
  readonly has_more_dead: boolean
  readonly alive: number
  readonly slots: number
  readonly busy: number
}

/** Counted exactly up to here; beyond, at least so many. */
export const COUNT_LIMIT = 100_000

const NONE = {
  due: '0',
  scheduled: '0',
  retrying: '0',
  paused: '0',
  running: '0',
  dead: '0',
  oldest: 'null::timestamptz',
  enqueued: '0',
  completed: '0',
  failed: '0',
}

/** One part of the union: what it counts, all else none. */
const counting = (counted: Partial<typeof NONE>): string =>
  Object.entries({ ...NONE, ...counted })
    .map(([name, value]) => `${value} as ${name}`)
    .join(', ')

// What is due and what waits for its time are counted apart, each level by its own walk of
// ready_claim, so that a million future jobs do not hide ten that are due. A walk ends at the limit:
// the answer takes as long as 100 000 rows a queue take, whatever stands behind.
const walked = (due: string): string => `
  select q.queue, w.kind, w.reason, w.due_at
  from known q
  cross join lateral (
    select r.kind, r.reason, r.due_at
    from generate_series(0, 9) p (level)
    cross join lateral (
      select r.kind, r.reason, r.due_at
      from millrace.ready r
      where r.queue = q.queue
        and r.priority = p.level::smallint
        and r.due_at ${due} $now::text::timestamptz
        and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
      order by r.due_at, r.job_id
      limit ${COUNT_LIMIT + 1}
    ) r
    limit ${COUNT_LIMIT + 1}
  ) w`

const exceeded = (rows: string): string =>
  `select queue from ${rows} group by queue having count(*) > ${COUNT_LIMIT}`

export type StatsParams = {
  /** Rollups from then on count; workers seen from then on live. */
  readonly rolled_after: string
  readonly alive_after: string
  readonly now: string
}

// H5: one statement, so that all of it is of one snapshot: no job is counted in two places, or in none.
export const jobStats: Statement<StatsParams, StatsRow> = statement(
  'job_stats',
  `
with recursive queues as (
  (select r.queue from millrace.ready r order by r.queue limit 1)
  union all
  select (select r.queue from millrace.ready r where r.queue > q.queue order by r.queue limit 1)
  from queues q
  where q.queue is not null
),
known as (
  select queue from queues where queue is not null
),
due as materialized (${walked('<=')}
),
waiting as materialized (${walked('>')}
),
dead as materialized (
  select f.queue, f.kind
  from millrace.finished f
  where f.state = 'dead'
  order by f.finished_at desc
  limit ${COUNT_LIMIT + 1}
),
counted as (
  select queue, kind, ${counting({ due: 'count(*)', oldest: 'min(due_at)' })}
  from due
  group by queue, kind
  union all
  select queue, kind, ${counting({
    scheduled: `count(*) filter (where reason is null or reason not in ('retry', 'recover', 'pause'))`,
    retrying: `count(*) filter (where reason in ('retry', 'recover'))`,
    paused: `count(*) filter (where reason = 'pause')`,
  })}
  from waiting
  group by queue, kind
  union all
  select queue, kind, ${counting({ running: 'count(*)' })}
  from millrace.leases
  group by queue, kind
  union all
  select queue, kind, ${counting({ dead: 'count(*)' })}
  from dead
  group by queue, kind
  union all
  select queue, kind, ${counting({
    enqueued: 'sum(enqueued)',
    completed: 'sum(completed)',
    failed: 'sum(failed)',
  })}
  from millrace.rollups
  where at > $rolled_after::text::timestamptz
  group by queue, kind
),
workers as (
  select count(*) as alive, coalesce(sum(concurrency), 0) as slots, coalesce(sum(busy), 0) as busy
  from millrace.workers
  where seen_at > $alive_after::text::timestamptz
)
select
  c.queue, c.kind,
  coalesce(c.due, 0)::float8 as due,
  coalesce(c.scheduled, 0)::float8 as scheduled,
  coalesce(c.retrying, 0)::float8 as retrying,
  coalesce(c.paused, 0)::float8 as paused,
  coalesce(c.running, 0)::float8 as running,
  coalesce(c.dead, 0)::float8 as dead,
  (extract(epoch from c.oldest) * 1000)::float8 as oldest_due_at,
  coalesce(c.enqueued, 0)::float8 as enqueued,
  coalesce(c.completed, 0)::float8 as completed,
  coalesce(c.failed, 0)::float8 as failed,
  coalesce(c.queue in (${exceeded('due')}), false) as has_more_due,
  coalesce(c.queue in (${exceeded('waiting')}), false) as has_more_waiting,
  (select count(*) from dead) > ${COUNT_LIMIT} as has_more_dead,
  w.alive::float8 as alive,
  w.slots::float8 as slots,
  w.busy::float8 as busy
from workers w
left join (
  select
    queue, kind, sum(due) as due, sum(scheduled) as scheduled, sum(retrying) as retrying, sum(paused) as paused,
    sum(running) as running, sum(dead) as dead, min(oldest) as oldest,
    sum(enqueued) as enqueued, sum(completed) as completed, sum(failed) as failed
  from counted
  group by queue, kind
) c on true
order by c.queue, c.kind`,
)
