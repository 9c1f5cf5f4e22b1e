import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { ASK_COLUMNS, hintsOf } from './enqueue-statements.ts'

/** What a keyed ask that got no place met. */
export interface KeyLook {
  /** The ask's own job, where its id exists. */
  readonly repeated: string | null
  readonly repeated_at: number | null
  /** Where the ask was merged already, and how. */
  readonly merged_into: string | null
  readonly merged_as: string | null
  readonly merged_at: number | null
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

// One snapshot over everything that decides. The oldest of a key is the one that took its slot, or the
// first of those that stand beside it under their ids: two probes, however many there are.
export const lookAtKey: Statement<{ id: string; kind: string; dedup_key: string }, KeyLook> =
  statement(
    'look_at_key',
    `
select
  j.id as repeated,
  (extract(epoch from j.created_at) * 1000)::float8 as repeated_at,
  m.job_id as merged_into, m.decision as merged_as,
  (extract(epoch from m.at) * 1000)::float8 as merged_at,
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
left join lateral (select job_id, decision, at from millrace.journal where asked_id = $id::text limit 1) m on true
left join lateral (
  select k.*
  from (
    (
      select r.job_id, r.ctid, r.xmin, r.run, r.failures
      from millrace.ready r
      where r.kind = $kind::text and r.dedup_key = $dedup_key::text and r.sibling = ''
        and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
      limit 1
    )
    union all
    (
      select r.job_id, r.ctid, r.xmin, r.run, r.failures
      from millrace.ready r
      where r.kind = $kind::text and r.dedup_key = $dedup_key::text and r.sibling > ''
        and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
      order by r.sibling
      limit 1
    )
  ) k
  order by k.job_id
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
  readonly asked_at: string
  readonly hint_until: string
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
    greatest($now::text::timestamptz, x.due_at, $asked_at::text::timestamptz + x.delay_ms * interval '1 millisecond') as due,
    coalesce(x.expires_at, $asked_at::text::timestamptz + x.expires_after_ms * interval '1 millisecond') as expiry,
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
        then least(a.latest, $asked_at::text::timestamptz + $debounce_ms::float8 * interval '1 millisecond')
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
    and (r.expires_at is null or r.expires_at > $now::text::timestamptz)
    and (select true from millrace.journal e where e.asked_id = a.id limit 1) is null
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
  select c.job_id, $asked_at::text::timestamptz, 'merged', c.run, c.failures, c.due_at, $decision::text, a.id
  from changed c, asked a
),
${hintsOf('changed')}
select changed.job_id
from changed
where (select sent from hints) is not null`,
)

// After a commit of unknown outcome (M8): were these asks merged? Ours are known by the instant.
export const mergedAsks: Statement<{ ids: string; asked_at: string }, { id: string }> = statement(
  'merged_asks',
  `
select asked_id as id
from millrace.journal
where asked_id = any ($ids::text::text[])
  and at = $asked_at::text::timestamptz`,
)
