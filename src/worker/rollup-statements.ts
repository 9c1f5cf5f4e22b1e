import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** What one client counted of one queue and kind. */
export interface RollupRow {
  readonly queue: string
  readonly kind: string
  readonly enqueued: number
  readonly completed: number
  readonly failed: number
}

// Appended, never updated: any number of clients at once, and none waits for another.
export const appendRollups: Statement<{ rollups: string }, { appended: number }> = statement(
  'append_rollups',
  `
with added as (
  insert into millrace.rollups (at, queue, kind, enqueued, completed, failed)
  select $now::text::timestamptz, x.queue, x.kind, x.enqueued, x.completed, x.failed
  from json_to_recordset($rollups::text::json) as x(
    queue text, kind text, enqueued int, completed int, failed int
  )
  returning id
)
select count(*)::int4 as appended
from added`,
)

// H5: chosen rows (M1). Only the last minute is ever summed.
export const pruneRollups: Statement<{ before: string; most: number }, { pruned: number }> =
  statement(
    'prune_rollups',
    `
with old as materialized (
  select ctid as tid
  from millrace.rollups
  where at < $before::text::timestamptz
  order by at
  limit $most::int
  for update skip locked
),
gone as (
  delete from millrace.rollups
  where ctid = any (array(select tid from old))
  returning id
)
select count(*)::int4 as pruned
from gone`,
  )
