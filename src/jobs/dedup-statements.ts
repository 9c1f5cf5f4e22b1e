import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { ASK_COLUMNS, hintsOf } from './enqueue-statements.ts'
import type { AskRow } from './enqueue-statements.ts'
import { pruneAt } from './retention-statements.ts'

/** A keyed ask; `rerun`: it waits until the running twin of its key ends. */
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
      else greatest($now::text::timestamptz, x.due_at, $now::text::timestamptz + x.delay_ms * interval '1 millisecond')
    end,
    coalesce(x.expires_at, $now::text::timestamptz + x.expires_after_ms * interval '1 millisecond'),
    x.lease_ms, 0, 0, case when x.is_rerun then 'rerun' end, x.dedup_key`

// First asks of their keys (D4): the place decides, by the unique (kind, dedup_key, sibling); the body
// comes from its RETURNING and has no \`on conflict\`, so that an id that exists after all undoes the
// place. In the order of the keys (M6); of two with one key the first wins. What gets no place met a
// job of its key, or is a repeated ask: a look tells.
export const placeKeyed: Statement<{ asks: string; hint_until: string; now?: string }, PlacedRow> =
  statement(
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
  where not exists (
      select from millrace.ready r
      where r.kind = x.kind and r.dedup_key = x.dedup_key
        and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
    )
    and not exists (select from millrace.jobs j where j.id = x.id)
    and not exists (select from millrace.journal e where e.asked_id = x.id)
  order by x.kind, x.dedup_key, x.id
  on conflict (kind, dedup_key, sibling) where dedup_key is not null do nothing
  returning job_id, queue, due_at
),
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select x.id, x.kind, x.queue, x.payload::json, x.priority, $now::text::timestamptz, x.options::json, x.dedup_key
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
export const placeIndependent: Statement<
  { asks: string; hint_until: string; now?: string },
  PlacedRow
> = statement(
  'place_independent',
  `
with ${KEYED},
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select id, kind, queue, payload::json, priority, $now::text::timestamptz, options::json, dedup_key
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

/** What a keyed ask that got no place met. */
export interface KeyLook {
  /** The ask's own job, where its id exists. */
  readonly repeated: string | null
  readonly repeated_at: number | null
  /** Where the ask was merged already, and how. */
  readonly merged_into: string | null
  readonly merged_as: string | null
  /** The running twin that has no cancel request. */
  readonly running: string | null
  /** The pending job that takes asks of the key: its row version guards the merge. */
  readonly job_id: string | null
  readonly row_place: string | null
  readonly row_version: string | null
  readonly run: number | null
  readonly failures: number | null
  readonly payload: string | null
  readonly carry: string | null
}

// One snapshot over everything that decides. \`|| ''\`: a plain order by job_id lets the primary key in.
export const lookAtKey: Statement<{ id: string; kind: string; dedup_key: string }, KeyLook> =
  statement(
    'look_at_key',
    `
select
  j.id as repeated,
  (extract(epoch from j.created_at) * 1000)::float8 as repeated_at,
  m.job_id as merged_into, m.decision as merged_as,
  (
    select min(l.job_id)
    from millrace.leases l
    where l.kind = $kind::text and l.dedup_key = $dedup_key::text and l.cancel_requested_at is null
  ) as running,
  c.job_id, c.ctid::text as row_place, c.xmin::text as row_version, c.run, c.failures,
  (select b.payload::text from millrace.jobs b where b.id = c.job_id) as payload,
  (select s.carry::text from millrace.carries s where s.job_id = c.job_id) as carry
from (values (1)) one (one)
left join lateral (select id, created_at from millrace.jobs where id = $id::text) j on true
left join lateral (select job_id, decision from millrace.journal where asked_id = $id::text limit 1) m on true
left join lateral (
  select r.job_id, r.ctid, r.xmin, r.run, r.failures
  from millrace.ready r
  where r.kind = $kind::text and r.dedup_key = $dedup_key::text
    and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
  order by r.job_id || ''
  limit 1
) c on true`,
  )

export type MergeParams = {
  readonly ask: string
  readonly job_id: string
  readonly row_place: string
  readonly row_version: string
  readonly decision: 'keep' | 'replace' | 'merge'
  /** The input and carry the job goes on with; null carry: it has none of its own. */
  readonly payload: string | null
  readonly carry: string | null
  readonly debounce_ms: number | null
  readonly at_most_ms: number | null
  readonly hint_until: string
  readonly now?: string
}

// The row of ready is updated even where nothing of it changes (M4): a claim with an older snapshot
// then misses it, in place of running the old input. Guarded by the version of the row that was
// looked at, so that a merge, a claim or a move in between makes it miss, and the ask looks again.
export const mergeIntoKey: Statement<MergeParams, { job_id: string }> = statement(
  'merge_into_key',
  `
with x as materialized (
  select *
  from json_to_recordset($ask::text::json) as a(dedup_key text, is_rerun boolean, ${ASK_COLUMNS}
  )
),
asked as materialized (
  select
    x.*,
    greatest($now::text::timestamptz, x.due_at, $now::text::timestamptz + x.delay_ms * interval '1 millisecond') as due,
    coalesce(x.expires_at, $now::text::timestamptz + x.expires_after_ms * interval '1 millisecond') as expiry,
    (select j.created_at from millrace.jobs j where j.id = $job_id::text)
      + $at_most_ms::float8 * interval '1 millisecond' as latest
  from x
),
changed as (
  update millrace.ready r
  set
    queue = case when $decision::text = 'keep' then r.queue else a.queue end,
    priority = case when $decision::text = 'keep' then r.priority else least(r.priority, a.priority) end,
    lease_ms = case when $decision::text = 'keep' then r.lease_ms else a.lease_ms end,
    due_at = case
      when $decision::text = 'keep' or r.reason = 'rerun' then r.due_at
      when $debounce_ms::float8 is not null
        then least(a.latest, $now::text::timestamptz + $debounce_ms::float8 * interval '1 millisecond')
      else least(r.due_at, a.due)
    end,
    expires_at = case
      when $decision::text = 'keep' then r.expires_at
      when r.expires_at is not null and a.expiry is not null then greatest(r.expires_at, a.expiry)
    end,
    failures = case when $decision::text = 'replace' then 0 else r.failures end,
    reason = case when $decision::text = 'replace' and r.reason <> 'rerun' then null else r.reason end
  from asked a
  where r.job_id = $job_id::text
    and r.ctid = $row_place::text::tid
    and r.xmin = $row_version::text::xid
    and not exists (select from millrace.journal e where e.asked_id = a.id)
  returning r.job_id, r.queue, r.due_at, r.run, r.failures, r.priority
),
body as (
  update millrace.jobs j
  set
    payload = $payload::text::json,
    queue = c.queue,
    priority = c.priority,
    options = a.options::json
  from changed c, asked a
  where j.id = c.job_id and $decision::text <> 'keep'
),
uncarried as (
  delete from millrace.carries
  where job_id = any (array(select job_id from changed))
    and $decision::text = 'replace'
),
carried as (
  insert into millrace.carries (job_id, carry)
  select job_id, $carry::text::json
  from changed
  where $decision::text = 'merge' and $carry::text is not null
  on conflict (job_id) do update set carry = excluded.carry
),
logged as (
  insert into millrace.journal (job_id, at, outcome, run, failures, due_at, decision, asked_id)
  select c.job_id, $now::text::timestamptz, 'merged', c.run, c.failures, c.due_at, $decision::text, a.id
  from changed c, asked a
),
${hintsOf('changed')}
select changed.job_id
from changed
where (select sent from hints) is not null`,
)
