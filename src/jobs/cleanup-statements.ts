import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { removedWith } from './retention-statements.ts'

export type CleanupParams = {
  readonly state: string
  /** Ended before it, strictly. */
  readonly before: string
  /** Null: of every kind. */
  readonly kind: string | null
  /** Where the walk goes on: microseconds since the epoch, and the id. */
  readonly after_us: string
  readonly after_id: string
  /** How many records the statement looks at, matching or not. */
  readonly bound: number
}

export interface CleanupRow {
  readonly matched: number
  readonly looked_at: number
  readonly last_us: string | null
  readonly last_id: string | null
}

// The oldest endings first, by (state, finished_at, job_id): what was looked at and does not match is
// not looked at again.
const SEEN = `
seen as materialized (
  select ctid as tid, job_id, finished_at, kind
  from millrace.finished
  where state = $state::text
    and finished_at < $before::text::timestamptz
    and (finished_at, job_id) > (timestamptz 'epoch' + $after_us::text::bigint * interval '1 microsecond', $after_id::text)
  order by finished_at, job_id
  limit $bound::int
),
looked as (
  select
    count(*)::int4 as looked_at,
    (extract(epoch from max(finished_at)) * 1000000)::bigint::text as last_us,
    (select s.job_id from seen s order by s.finished_at desc, s.job_id desc limit 1) as last_id
  from seen
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
  where f.ctid = any (array(select s.tid from seen s where $kind::text is null or s.kind = $kind::text))
  for update skip locked
),
gone as (
  delete from millrace.finished
  where ctid = any (array(select tid from due))
  returning job_id
),
${removedWith('gone')}
select cardinality(ids.a)::int4 as matched, looked.looked_at, looked.last_us, looked.last_id
from ids, looked`,
)

export const countFinished: Statement<CleanupParams, CleanupRow> = statement(
  'count_finished',
  `
with ${SEEN}
select
  (select count(*) from seen s where $kind::text is null or s.kind = $kind::text)::int4 as matched,
  looked.looked_at, looked.last_us, looked.last_id
from looked`,
)
