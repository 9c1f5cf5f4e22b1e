import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface StreamRow {
  readonly stream: string
  readonly head: number
  readonly events: number
  readonly waiting: number
}

// Counting the inbox ends at 10 000: what is behind is a backlog whatever its size.
const WAITING = (stream: string): string => `
  (
    select count(*)::int4
    from (select from millrace.event_inbox i where i.stream = ${stream} limit 10000) w
  )`

const END = (stream: string, direction: 'asc' | 'desc'): string => `
  (
    select e.event_offset
    from millrace.events e
    where e.stream = ${stream}
    order by e.event_offset ${direction}
    limit 1
  )`

// Offsets are dense, so the number of events is the distance of the two ends.
export const listStreams: Statement<Record<string, never>, StreamRow> = statement(
  'list_streams',
  `
with recursive inbox(stream) as (
  (select stream from millrace.event_inbox order by stream limit 1)
  union all
  select (
    select i.stream from millrace.event_inbox i where i.stream > s.stream order by i.stream limit 1
  )
  from inbox s
  where s.stream is not null
)
select
  s.stream,
  coalesce(ends.head, 0)::float8 as head,
  coalesce(ends.head - ends.first + 1, 0)::float8 as events,
  ends.waiting
from (
  select stream from millrace.streams
  union
  select stream from inbox where stream is not null
) s
cross join lateral (
  select ${END('s.stream', 'desc')} as head, ${END('s.stream', 'asc')} as first, ${WAITING('s.stream')} as waiting
) ends
order by s.stream`,
)

export interface ConsumerListRow {
  readonly consumer: string
  readonly saved_offset: number
  readonly lag: number
  readonly holder: string | null
}

// What has no offset yet is still to come for everybody.
export const listConsumers: Statement<{ stream: string }, ConsumerListRow> = statement(
  'list_consumers',
  `
with ends as materialized (
  select
    coalesce(${END('$stream::text', 'desc')}, 0) as head,
    coalesce(${END('$stream::text', 'asc')}, 1) as first,
    ${WAITING('$stream::text')} as waiting
)
select
  c.consumer,
  coalesce(c.saved_offset, 0)::float8 as saved_offset,
  (greatest(0, ends.head - greatest(coalesce(c.saved_offset, 0), ends.first - 1)) + ends.waiting)::float8 as lag,
  case when c.lease_ends_at > $now::text::timestamptz then c.holder end as holder
from millrace.consumers c
cross join ends
where c.stream = $stream::text
order by c.consumer`,
)

/**
 * Removes a piece of the front: events before an offset, or, where an instant is given, those before
 * the first that was published then or later. Never the last event: the head is read from its row.
 */
export const trimEvents: Statement<
  { stream: string; after: number; before: number | null; since: string | null; most: number },
  { removed: number; looked_until: number | null }
> = statement(
  'trim_events',
  `
with piece as materialized (
  select e.event_offset, e.published_at
  from millrace.events e
  where e.stream = $stream::text
    and e.event_offset > $after::float8::bigint
    and ($before::float8 is null or e.event_offset < $before::float8::bigint)
    and e.event_offset < ${END('$stream::text', 'desc')}
  order by e.event_offset
  limit $most::int
),
doomed as materialized (
  select event_offset
  from piece
  where $since::text is null
    or event_offset < coalesce(
      (select min(event_offset) from piece where published_at >= $since::text::timestamptz),
      9223372036854775807
    )
),
gone as (
  delete from millrace.events e
  where e.stream = $stream::text
    and e.event_offset = any (array(select event_offset from doomed))
  returning 1
)
select
  (select count(*) from gone)::int4 as removed,
  (select max(event_offset) from doomed)::float8 as looked_until`,
)
