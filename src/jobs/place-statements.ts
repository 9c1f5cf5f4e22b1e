import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { ASK_COLUMNS, hintsOf } from './enqueue-statements.ts'
import type { AskRow } from './enqueue-statements.ts'
import { pruneAt } from './retention-statements.ts'

/** A keyed ask; `is_rerun`: it waits until the running twin of its key ends. */
export interface KeyedRow extends AskRow {
  readonly dedup_key: string
  readonly is_rerun?: boolean
}

export interface PlacedRow {
  readonly id: string
}

export const KEYED: string = `
x as materialized (
  select *
  from json_to_recordset($asks::text::json) as a(dedup_key text, is_rerun boolean, ${ASK_COLUMNS}
  )
)`

// An expired job still stands where asks of its key are taken, until somebody sweeps: the ask that
// meets it moves it to its end first (D4).
const EXPIRED = `
expired as (
  delete from millrace.ready
  where job_id = any (array(
      select r.job_id
      from x
      cross join lateral (
        select r.job_id
        from millrace.ready r
        where r.kind = x.kind and r.dedup_key = x.dedup_key and r.sibling = ''
          and (r.expires_at <= $now::text::timestamptz) is true
      ) r
    ))
    and (expires_at <= $now::text::timestamptz) is true
  returning job_id, kind, queue, run, failures
),
swept as (
  insert into millrace.finished (job_id, state, reason, kind, queue, run, failures, finished_at, prune_at)
  select
    e.job_id, 'dead', 'expired', e.kind, e.queue, e.run, e.failures, $now::text::timestamptz,
    ${pruneAt('e.job_id', 'dead')}
  from expired e
  on conflict (job_id) do nothing
)`

export const DUE: string = `
    case when x.is_rerun then 'infinity'::timestamptz
      else greatest($now::text::timestamptz, x.due_at, $asked_at::text::timestamptz + x.delay_ms * interval '1 millisecond')
    end,
    coalesce(x.expires_at, $asked_at::text::timestamptz + x.expires_after_ms * interval '1 millisecond'),
    x.lease_ms, 0, 0, case when x.is_rerun then 'rerun' end, x.dedup_key`

/**
 * `asked_at`: when the call was made, the same where it is repeated; what took effect is known by
 * it (M8). `$now` goes on, and says what has expired.
 */
export type PlaceParams = {
  readonly asks: string
  readonly asked_at: string
  readonly hint_until: string
}

// First asks of their keys (D4): the place decides, by the unique (kind, dedup_key, sibling); the body
// comes from its RETURNING and has no \`on conflict\`, so that an id that exists after all undoes the
// place. In the order of the keys (M6), byte by byte as the client sorts them; of two with one key the
// first wins. What gets no place met a job of its key, or is a repeated ask: a look tells. Scalar
// subqueries, since `not exists` would be answered by a hash of a whole table where statistics are stale.
export const placeKeyed: Statement<PlaceParams, PlacedRow> = statement(
  'place_keyed',
  `
with ${KEYED},
${EXPIRED},
place as (
  insert into millrace.ready (
    job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, reason, dedup_key, sibling
  )
  select x.id, x.queue, x.kind, x.priority, ${DUE}, ''
  from x
  left join (select count(*) as swept from expired) e on true
  where (
      select true from millrace.ready r
      where r.kind = x.kind and r.dedup_key = x.dedup_key
        and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
      limit 1
    ) is null
    and (select true from millrace.jobs j where j.id = x.id limit 1) is null
    and (select true from millrace.journal e where e.asked_id = x.id limit 1) is null
  order by x.kind collate "C", x.dedup_key collate "C", x.id collate "C"
  on conflict (kind, dedup_key, sibling) where dedup_key is not null do nothing
  returning job_id, queue, due_at
),
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select x.id, x.kind, x.queue, x.payload::json, x.priority, $asked_at::text::timestamptz, x.options::json, x.dedup_key
  from place
  join x on x.id = place.job_id
  returning id
),
${hintsOf('place')}
select body.id
from body
where (select sent from hints) is not null`,
)

// A second job of its key on purpose: it stands beside the other, like a job that returned.
export const placeIndependent: Statement<PlaceParams, PlacedRow> = statement(
  'place_independent',
  `
with ${KEYED},
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select id, kind, queue, payload::json, priority, $asked_at::text::timestamptz, options::json, dedup_key
  from x
  order by id
  on conflict (id) do nothing
  returning id
),
place as (
  insert into millrace.ready (
    job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, reason, dedup_key, sibling
  )
  select x.id, x.queue, x.kind, x.priority, ${DUE}, x.id
  from body
  join x on x.id = body.id
  on conflict (job_id) do nothing
  returning queue, due_at
),
${hintsOf('place')}
select body.id
from body
where (select sent from hints) is not null`,
)
