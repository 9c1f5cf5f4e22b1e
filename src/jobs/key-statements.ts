import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { DUE, KEYED } from './dedup-statements.ts'
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
}

// D7: the window is taken by its row, and the job is written only by who took it. The row outlives
// the job; the look at the winner sees the one that was there before this statement.
export const throttleAsk: Statement<
  { asks: string; window_ms: number; hint_until: string; now?: string },
  ThrottleRow
> = statement(
  'throttle_ask',
  `
with ${KEYED},
won as (
  insert into millrace.throttles as t (kind, dedup_key, until, job_id)
  select x.kind, x.dedup_key, $now::text::timestamptz + $window_ms::float8 * interval '1 millisecond', x.id
  from x
  where not exists (select from millrace.jobs j where j.id = x.id)
  on conflict (kind, dedup_key) do update
    set until = excluded.until, job_id = excluded.job_id
    where t.until <= $now::text::timestamptz
  returning t.job_id
),
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select x.id, x.kind, x.queue, x.payload::json, x.priority, $now::text::timestamptz, x.options::json, x.dedup_key
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
select body.id as job_id, true as is_new
from body
where (select sent from hints) is not null
union all
select t.job_id, false
from x
join millrace.throttles t on t.kind = x.kind and t.dedup_key = x.dedup_key
where not exists (select from body)`,
)

// D1, rerun: the asks that waited for a twin are due once no run of their key is under way. Told by
// whoever settled the twin, and by maintenance for those whose teller died.
export const releaseReruns: Statement<
  { kind: string | null; dedup_key: string | null; hint_until: string },
  { job_id: string }
> = statement(
  'release_reruns',
  `
with due as materialized (
  select r.ctid as tid
  from millrace.ready r
  where r.reason = 'rerun'
    and ($kind::text is null or (r.kind = $kind::text and r.dedup_key = $dedup_key::text))
    and not exists (
      select from millrace.leases l
      where l.kind = r.kind and l.dedup_key = r.dedup_key
    )
  limit 500
  for update skip locked
),
changed as (
  update millrace.ready
  set due_at = $now::text::timestamptz, reason = null
  where ctid = any (array(select tid from due))
  returning job_id, queue, due_at
),
${hintsOf('changed')}
select changed.job_id
from changed
where (select sent from hints) is not null`,
)
