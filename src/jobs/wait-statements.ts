import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

// Which of these jobs do not live any more: ended, or without a record. One snapshot over both places
// of living jobs; scalar subqueries, since `exists` would be answered by a hash of the whole table
// where statistics are stale.
export const endedJobs: Statement<{ ids: string }, { id: string }> = statement(
  'ended_jobs',
  `
select x.id
from unnest($ids::text::text[]) x (id)
where not coalesce(
  (select true from millrace.ready r where r.job_id = x.id limit 1),
  (select true from millrace.leases l where l.job_id = x.id limit 1),
  false
)`,
)

// Somebody waits for the ends of these jobs: workers that hear it say when one of them was settled.
export const announceWaits: Statement<{ ids: string; hint_until: string }, { sent: number }> =
  statement(
    'announce_waits',
    `
select count(pg_notify('{{channel}}', 'wait ' || x.id))::int4 as sent
from unnest($ids::text::text[]) x (id)
where $now::text::timestamptz <= $hint_until::text::timestamptz`,
  )

// A run of each of these jobs was settled. After the settlement and apart from it: only jobs that
// somebody waits for cost anything.
export const announceEnds: Statement<{ ids: string }, { sent: number }> = statement(
  'announce_ends',
  `
select count(pg_notify('{{channel}}', 'ended ' || x.id))::int4 as sent
from unnest($ids::text::text[]) x (id)`,
)
