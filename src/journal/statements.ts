import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface JournalRow {
  readonly entry: string
  readonly job_id: string
  readonly at: number
  readonly outcome: string
  readonly run: number
  readonly failures: number
  readonly worker: string | null
  readonly started_at: number | null
  readonly due_at: number | null
  readonly reason: string | null
  readonly recovered_by: string | null
  readonly decided_by: string | null
  readonly why: string | null
  readonly decision: string | null
  readonly asked_id: string | null
  readonly note: string | null
  readonly attachment: string | null
  readonly error: string | null
}

export type JournalParams = {
  readonly job_id: string
  /** Entries strictly between the two; `before` null reaches to the end of the job. */
  readonly after: string
  readonly before: string | null
  readonly most: number
}

// The end of a job, which the timeline gives the last number there is.
const END = '9223372036854775807'

// Both directions of one walk over (job_id, id), and the end of the job after it. Apart, so that
// the walk stops at the limit: the planner drops the half of the view that cannot match.
const jobJournal = (name: string, order: 'asc' | 'desc'): Statement<JournalParams, JournalRow> =>
  statement(
    name,
    `
select
  entry::text as entry, job_id,
  (extract(epoch from at) * 1000)::float8 as at,
  outcome, run, failures, worker,
  (extract(epoch from started_at) * 1000)::float8 as started_at,
  (extract(epoch from due_at) * 1000)::float8 as due_at,
  reason, recovered_by, decided_by, why, decision, asked_id, note,
  attachment::text as attachment, error::text as error
from (
  (
    select *
    from millrace.timeline
    where job_id = $job_id::text
      and entry < ${END}
      and entry > $after::text::bigint
      and entry < coalesce($before::text::bigint, ${END})
    order by entry ${order}
    limit $most::int
  )
  union all
  (
    select *
    from millrace.timeline
    where job_id = $job_id::text
      and entry = ${END}
      and $after::text::bigint < ${END}
      and $before::text is null
    limit 1
  )
) entries
order by entries.entry ${order}
limit $most::int`,
  )

export const jobJournalOldest: Statement<JournalParams, JournalRow> = jobJournal(
  'job_journal_oldest',
  'asc',
)

export const jobJournalNewest: Statement<JournalParams, JournalRow> = jobJournal(
  'job_journal_newest',
  'desc',
)
