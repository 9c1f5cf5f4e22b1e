import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** A message that is dead and halts its key. */
export interface HaltedRow {
  readonly outbox: string
  readonly key: string
  readonly id: string
  readonly dead_since: number
  /** How many of the key wait behind it, up to 1 000. */
  readonly waiting: number
}

const HALTED = `
    f.state = 'dead' and l.halts and not l.is_over`

export const haltedKeys: Statement<{ outbox: string | null; most: number }, HaltedRow> = statement(
  'halted_keys',
  `
select
  h.kind as outbox, h.key, h.job_id as id,
  (extract(epoch from f.finished_at) * 1000)::float8 as dead_since,
  (
    select count(*)
    from (
      select 1
      from millrace.outbox_line w
      where w.kind = h.kind and w.key = h.key and not w.is_over and w.job_id <> h.job_id
      limit 1000
    ) w
  )::int4 as waiting
from millrace.outbox_heads h
cross join lateral (select state, finished_at from millrace.finished f where f.job_id = h.job_id limit 1) f
cross join lateral (select halts, is_over from millrace.outbox_line l where l.job_id = h.job_id limit 1) l
where ($outbox::text is null or h.kind = $outbox::text)
  and ${HALTED}
order by h.kind, h.key
limit $most::int`,
)

// The dead message stays dead, and its key is looked at: given by take_turns alone (B1), the turn goes
// to the next. By ctid (M1): a message that was redriven since the snapshot has touched its place, and
// must not be passed over.
export const skipHalted: Statement<
  { outbox: string; key: string; hint_until: string },
  { id: string }
> = statement(
  'skip_halted',
  `
with halted as materialized (
  select l.ctid as tid
  from millrace.outbox_heads h
  cross join lateral (select state from millrace.finished f where f.job_id = h.job_id limit 1) f
  cross join lateral (
    select ctid, halts, is_over from millrace.outbox_line l where l.job_id = h.job_id limit 1
  ) l
  where h.kind = $outbox::text
    and h.key = $key::text
    and ${HALTED}
),
due as materialized (
  select l.ctid as tid
  from millrace.outbox_line l
  where l.ctid = any (array(select tid from halted))
  for update
),
passed as (
  update millrace.outbox_line
  set is_over = true
  where ctid = any (array(select tid from due))
  returning job_id, kind, key, due_at, halts
),
arrived as (
  insert into millrace.outbox_inbox (job_id, kind, key, due_at, halts)
  select job_id, kind, key, due_at, halts
  from passed
),
hints as (
  select count(pg_notify('{{channel}}', 'outbox')) as sent
  from (select 1 from passed limit 1) h
  where $hint_until::text::timestamptz > '-infinity'
)
select passed.job_id as id
from passed
where (select sent from hints) is not null`,
)
