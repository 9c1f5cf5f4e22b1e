import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { foundJobs } from './inspect-statements.ts'
import type { ListParams } from './inspect-statements.ts'
import type { JobState } from './job.ts'

export interface PlaceRow {
  readonly id: string
  readonly state: JobState
}

// Where these jobs stand, in one snapshot; those without a record are left out. What a change did not
// apply to is told from what moved meanwhile by it (M3), so it is a statement of its own.
export const placesOfJobs: Statement<{ ids: string }, PlaceRow> = statement(
  'places_of_jobs',
  `
select x.id, case when r.here then 'pending' when l.here then 'running' else f.state end as state
from unnest($ids::text::text[]) x (id)
left join lateral (select true as here from millrace.ready r where r.job_id = x.id limit 1) r on true
left join lateral (select true as here from millrace.leases l where l.job_id = x.id limit 1) l on true
left join lateral (select f.state from millrace.finished f where f.job_id = x.id limit 1) f on true
where r.here or l.here or f.state is not null`,
)

export interface MatchRow {
  readonly id: string | null
  /** How many ids the statement looked at, and the last of them. */
  readonly looked_at: number
  readonly looked_until: string | null
}

// The next ids that a filter matches, in their order; one row without id when none of them does.
export const matchingJobs: Statement<ListParams, MatchRow> = statement(
  'matching_jobs',
  `
with ${foundJobs('asc')}
select looked.looked_at, looked.looked_until, found.job_id as id
from looked
left join found on true
order by found.job_id`,
)
