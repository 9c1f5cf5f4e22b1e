import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** Every column a record is made of; the columns of places where the job is not are null. */
export interface JobRow {
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly priority: number
  readonly payload: string | null
  readonly carry: string | null
  readonly options: string | null
  readonly dedup_key: string | null
  readonly created_at: number
  readonly schedule: string | null
  readonly boundary: number | null
  readonly state: 'pending' | 'running' | 'completed' | 'dead' | 'cancelled'
  readonly run: number
  readonly failures: number
  readonly reason: string | null
  readonly due_at: number | null
  readonly is_due: boolean | null
  readonly expires_at: number | null
  readonly worker: string | null
  readonly started_at: number | null
  readonly lease_ends_at: number | null
  readonly cancel_requested_at: number | null
  readonly progress_done: number | null
  readonly progress_total: number | null
  readonly finished_at: number | null
  readonly prune_at: number | null
  readonly decided_by: string | null
  readonly why: string | null
  readonly note: string | null
  readonly attachment: string | null
  readonly result: string | null
  readonly error: string | null
}

const instant = (column: string, name: string): string =>
  `(extract(epoch from ${column}) * 1000)::float8 as ${name}`

// One job from one snapshot: exactly one of the three places answers.
const RECORD_COLUMNS = `
  j.id, j.kind, coalesce(r.queue, l.queue, f.queue) as queue,
  coalesce(r.priority, l.priority, j.priority)::int4 as priority,
  j.payload::text as payload,
  (select carry::text from millrace.carries c where c.job_id = j.id limit 1) as carry,
  j.options::text as options, j.dedup_key,
  ${instant('j.created_at', 'created_at')},
  j.schedule, ${instant('j.boundary', 'boundary')},
  case when r.job_id is not null then 'pending' when l.job_id is not null then 'running' else f.state end as state,
  coalesce(r.run, l.run, f.run) as run,
  coalesce(r.failures, l.failures, f.failures) as failures,
  coalesce(r.reason, f.reason) as reason,
  ${instant('coalesce(r.due_at, l.due_at)', 'due_at')},
  r.due_at <= $now::text::timestamptz as is_due,
  ${instant('coalesce(r.expires_at, l.expires_at)', 'expires_at')},
  coalesce(l.worker, f.worker) as worker,
  ${instant('coalesce(l.started_at, f.started_at)', 'started_at')},
  ${instant('l.lease_ends_at', 'lease_ends_at')},
  ${instant('l.cancel_requested_at', 'cancel_requested_at')},
  l.progress_done, l.progress_total,
  ${instant('f.finished_at', 'finished_at')},
  ${instant('f.prune_at', 'prune_at')},
  f.decided_by, f.why, f.note, f.attachment::text as attachment, f.result::text as result, f.error::text as error`

const RECORD_PLACES = `
left join lateral (select * from millrace.ready r where r.job_id = j.id limit 1) r on true
left join lateral (select * from millrace.leases l where l.job_id = j.id limit 1) l on true
left join lateral (select * from millrace.finished f where f.job_id = j.id limit 1) f on true`

export const getJob: Statement<{ id: string }, JobRow> = statement(
  'get_job',
  `
select ${RECORD_COLUMNS}
from millrace.jobs j
${RECORD_PLACES}
where j.id = $id::text
  and coalesce(r.job_id, l.job_id, f.job_id) is not null`,
)

/** A filter as the statements take it; null members do not restrict. */
export type FilterParams = {
  readonly states: string
  readonly kinds: string | null
  readonly queues: string | null
  readonly created_after: string | null
  readonly created_before: string | null
  readonly finished_after: string | null
  readonly finished_before: string | null
  readonly dedup_key: string | null
  readonly schedule: string | null
  readonly text: string | null
}

export type ListParams = FilterParams & {
  /** Ids strictly between the two. */
  readonly after: string
  readonly before: string
  /** How many ids of each place one statement looks at, whatever it finds. */
  readonly bound: number
  /** How many records it gives at most. */
  readonly most: number
}

/** A page's rows, each with how far the statement looked; a page that matched nothing is one row without id. */
export interface ListRow extends Omit<JobRow, 'id'> {
  readonly id: string | null
  readonly looked_at: number
  readonly looked_until: string | null
}

// Ids come from the primary keys of the places, at most $bound of each, matching or not, so that a
// filter that matches little costs no more than one that matches all: at most $most of them match.
export const foundJobs = (order: 'asc' | 'desc'): string => `
seen as materialized (
  select s.job_id, s.state, s.queue, s.finished_at
  from (
    (
      select job_id, 'pending' as state, queue, null::timestamptz as finished_at
      from millrace.ready
      where 'pending' = any ($states::text::text[]) and job_id > $after::text and job_id < $before::text
      order by job_id ${order}
      limit $bound::int
    )
    union all
    (
      select job_id, 'running', queue, null
      from millrace.leases
      where 'running' = any ($states::text::text[]) and job_id > $after::text and job_id < $before::text
      order by job_id ${order}
      limit $bound::int
    )
    union all
    (
      select job_id, state, queue, finished_at
      from millrace.finished
      where '{completed,dead,cancelled}' && $states::text::text[] and job_id > $after::text and job_id < $before::text
      order by job_id ${order}
      limit $bound::int
    )
  ) s
  order by s.job_id ${order}
  limit $bound::int
),
looked as (
  select count(*)::int4 as looked_at, ${order === 'asc' ? 'max' : 'min'}(job_id) as looked_until
  from seen
),
found as materialized (
  select s.job_id
  from seen s
  cross join lateral (select * from millrace.jobs j where j.id = s.job_id limit 1) j
  where s.state = any ($states::text::text[])
    and ($kinds::text::text[] is null or j.kind = any ($kinds::text::text[]))
    and ($queues::text::text[] is null or s.queue = any ($queues::text::text[]))
    and ($created_after::text::timestamptz is null or j.created_at > $created_after::text::timestamptz)
    and ($created_before::text::timestamptz is null or j.created_at < $created_before::text::timestamptz)
    and ($finished_after::text::timestamptz is null or s.finished_at > $finished_after::text::timestamptz)
    and ($finished_before::text::timestamptz is null or s.finished_at < $finished_before::text::timestamptz)
    and ($dedup_key::text is null or j.dedup_key = $dedup_key::text)
    and ($schedule::text is null or j.schedule = $schedule::text)
    and ($text::text is null or strpos(j.payload::text, $text::text) > 0)
  order by s.job_id ${order}
  limit $most::int
)`

// Bodies are looked up by id, and records made of no more than $most.
const listJobs = (name: string, order: 'asc' | 'desc'): Statement<ListParams, ListRow> =>
  statement(
    name,
    `
with ${foundJobs(order)}
select looked.looked_at, looked.looked_until, m.*
from looked
left join (
  select ${RECORD_COLUMNS}
  from found
  cross join lateral (select * from millrace.jobs j where j.id = found.job_id limit 1) j
  ${RECORD_PLACES}
) m on true
order by m.id ${order}`,
  )

export const listJobsOldest: Statement<ListParams, ListRow> = listJobs('list_jobs_oldest', 'asc')
export const listJobsNewest: Statement<ListParams, ListRow> = listJobs('list_jobs_newest', 'desc')
