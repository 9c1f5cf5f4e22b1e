import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { removedWith } from './retention-statements.ts'

export type CleanupParams = {
  readonly states: string
  /** Ended before it, strictly. */
  readonly before: string
  /** Null: of every kind. */
  readonly kind: string | null
  /** Where the walk goes on: behind this id. */
  readonly after: string
  /** How many records the statement looks at, matching or not. */
  readonly bound: number
}

export interface CleanupRow {
  readonly matched: number
  readonly looked_at: number
  readonly looked_until: string | null
}

// By id, the order of creation: what was looked at and does not match is not looked at again. An
// index in the order of the endings would be the largest of all, written for every job that ends.
const SEEN = `
seen as materialized (
  select ctid as tid, job_id, state, finished_at, kind
  from millrace.finished
  where job_id > $after::text
  order by job_id
  limit $bound::int
),
looked as (
  select count(*)::int4 as looked_at, max(job_id) as looked_until
  from seen
),
matching as (
  select tid
  from seen
  where state = any ($states::text::text[])
    and finished_at < $before::text::timestamptz
    and ($kind::text is null or kind = $kind::text)
)`

// Chosen rows (M1): a record that is being redriven or pruned is skipped; one that was redriven has
// moved, and its body stays with it.
export const cleanUpFinished: Statement<CleanupParams, CleanupRow> = statement(
  'clean_up_finished',
  `
with ${SEEN},
due as materialized (
  select f.ctid as tid
  from millrace.finished f
  where f.ctid = any (array(select tid from matching))
  for update skip locked
),
gone as (
  delete from millrace.finished
  where ctid = any (array(select tid from due))
  returning job_id
),
${removedWith('gone')}
select cardinality(ids.a)::int4 as matched, looked.looked_at, looked.looked_until
from ids, looked`,
)

export const countFinished: Statement<CleanupParams, CleanupRow> = statement(
  'count_finished',
  `
with ${SEEN}
select (select count(*) from matching)::int4 as matched, looked.looked_at, looked.looked_until
from looked`,
)
