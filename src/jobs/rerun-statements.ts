import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { hintsOf } from './enqueue-statements.ts'

// D1, rerun: workers look for what waits from now on. In the commit that writes the ask.
export const announceRerun: Statement<{ hint_until: string }, { sent: number }> = statement(
  'announce_rerun',
  `
select count(pg_notify('{{channel}}', 'rerun'))::int4 as sent
where $hint_until::text::timestamptz > '-infinity'`,
)

export interface ReleasedRow {
  readonly released: number
  /** Whether any ask waited, those that were just released among them. */
  readonly waiting: boolean
}

/** By one statement; where so many were, more may be. */
export const MOST_RELEASED = 500

const RELEASED = `
changed as (
  update millrace.ready
  set due_at = $now::text::timestamptz, reason = null
  where ctid = any (array(select tid from due))
  returning job_id, queue, due_at
),
${hintsOf('changed')}
select
  (select count(*) from changed)::int4 as released,
  coalesce((select true from millrace.ready where reason = 'rerun' limit 1), false) as waiting
from hints`

// D1, rerun: the asks that waited for a twin are due once no run of their key is under way: told by
// whoever settled the twin, and looked for each second while any waits, for those whose teller died.
export const releaseReruns: Statement<{ hint_until: string }, ReleasedRow> = statement(
  'release_reruns',
  `
with due as materialized (
  select r.ctid as tid
  from millrace.ready r
  where r.reason = 'rerun'
    and (
      select true from millrace.leases l
      where l.kind = r.kind and l.dedup_key = r.dedup_key
      limit 1
    ) is null
  limit ${MOST_RELEASED}
  for update skip locked
),
${RELEASED}`,
)

// The same for the keys of runs that were just settled.
export const releaseRerunsOf: Statement<{ keys: string; hint_until: string }, ReleasedRow> =
  statement(
    'release_reruns_of',
    `
with k as materialized (
  select distinct kind, dedup_key
  from json_to_recordset($keys::text::json) as k(kind text, dedup_key text)
),
due as materialized (
  select w.tid
  from k
  cross join lateral (
    select r.ctid as tid
    from millrace.ready r
    where r.reason = 'rerun'
      and r.kind = k.kind
      and r.dedup_key = k.dedup_key
      and (
        select true from millrace.leases l
        where l.kind = k.kind and l.dedup_key = k.dedup_key
        limit 1
      ) is null
    for update skip locked
  ) w
),
${RELEASED}`,
  )
