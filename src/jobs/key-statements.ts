import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { DUE, KEYED } from './place-statements.ts'
import { hintsOf } from './enqueue-statements.ts'

// D1, scope live: asks of one key go one after another. A statement of its own: what follows must
// see what the one before committed. The schema is hashed in, so that namespaces do not meet.
export const lockKey: Statement<{ kind: string; dedup_key: string }, { locked: number }> =
  statement(
    'lock_key',
    `
select 1 as locked
from (select pg_advisory_xact_lock(hashtextextended('{{channel}} ' || $kind::text || ' ' || $dedup_key::text, 0))) as lock`,
  )

export interface ThrottleRow {
  readonly job_id: string
  readonly is_new: boolean
  /** When the ask's own job was asked for, where it is there already. */
  readonly created_at: number | null
}

// D7: the window is taken by its row, and the job is written only by who took it. The row outlives
// the job; the look at the winner sees the one that was there before this statement. A repeated ask
// takes no window and is answered by its own job. All of it at the instant of the ask: of two asks of
// one call the second never finds the window of the first over.
export const throttleAsk: Statement<
  { asks: string; window_ms: number; asked_at: string; hint_until: string },
  ThrottleRow
> = statement(
  'throttle_ask',
  `
with ${KEYED},
own as materialized (
  select (select j.id from millrace.jobs j where j.id = x.id limit 1) as id
  from x
),
won as (
  insert into millrace.throttles as t (kind, dedup_key, until, job_id)
  select x.kind, x.dedup_key, $asked_at::text::timestamptz + $window_ms::float8 * interval '1 millisecond', x.id
  from x
  where (select id from own) is null
  on conflict (kind, dedup_key) do update
    set until = excluded.until, job_id = excluded.job_id
    where t.until <= $asked_at::text::timestamptz
  returning t.job_id
),
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select x.id, x.kind, x.queue, x.payload::json, x.priority, $asked_at::text::timestamptz, x.options::json, x.dedup_key
  from won
  join x on x.id = won.job_id
  returning id
),
place as (
  insert into millrace.ready (
    job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, reason, dedup_key, sibling
  )
  select x.id, x.queue, x.kind, x.priority, ${DUE}, x.id
  from body
  join x on x.id = body.id
  returning queue, due_at
),
${hintsOf('place')}
select body.id as job_id, true as is_new, null::float8 as created_at
from body
where (select sent from hints) is not null
union all
select j.id, false, (extract(epoch from j.created_at) * 1000)::float8
from own
join millrace.jobs j on j.id = own.id
union all
select t.job_id, false, null::float8
from x
join millrace.throttles t on t.kind = x.kind and t.dedup_key = x.dedup_key
where not exists (select from body) and (select id from own) is null`,
)

// Windows that are over. A minute later than that, so that a client whose clock is a little behind
// finds them still; chosen rows (M1), and an ask that takes one again is not waited for.
export const pruneThrottles: Statement<{ most: number }, { pruned: number }> = statement(
  'prune_throttles',
  `
with due as materialized (
  select ctid as tid
  from millrace.throttles
  where until < $now::text::timestamptz - interval '1 minute'
  order by until
  limit $most::int
  for update skip locked
),
gone as (
  delete from millrace.throttles
  where ctid = any (array(select tid from due))
  returning kind
)
select count(*)::int4 as pruned
from gone`,
)
