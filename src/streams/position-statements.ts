import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface EndsRow {
  /** The offset of the first event there is; null: there is none. */
  readonly first: number | null
  /** The largest offset; 0: there is none. */
  readonly head: number
}

// Both ends of the index. The last event's row is never removed, so the head is always there.
export const streamEnds: Statement<{ stream: string }, EndsRow> = statement(
  'stream_ends',
  `
select
  (
    select e.event_offset
    from millrace.events e
    where e.stream = $stream::text
    order by e.event_offset
    limit 1
  )::float8 as first,
  coalesce((
    select e.event_offset
    from millrace.events e
    where e.stream = $stream::text
    order by e.event_offset desc
    limit 1
  ), 0)::float8 as head`,
)

// Instants are not in the order of the offsets (a transaction may stay open for long), so this reads
// on, a bounded piece at a time, until it meets one.
export const firstEventSince: Statement<
  { stream: string; after: number; most: number; since: string },
  { event_offset: number | null; looked_until: number | null }
> = statement(
  'first_event_since',
  `
with piece as materialized (
  select e.event_offset, e.published_at
  from millrace.events e
  where e.stream = $stream::text
    and e.event_offset > $after::float8::bigint
  order by e.event_offset
  limit $most::int
)
select
  (min(event_offset) filter (where published_at >= $since::text::timestamptz))::float8 as event_offset,
  max(event_offset)::float8 as looked_until
from piece`,
)

export const eventOffsetOf: Statement<{ stream: string; id: string }, { event_offset: number }> =
  statement(
    'event_offset_of',
    `
select event_offset::float8 as event_offset
from millrace.events
where stream = $stream::text and id = $id::text`,
  )
