import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface SequencedRow {
  /** How many left the inbox, repeated ones included. */
  readonly moved: number
  /** Another session gives offsets in this stream at present. */
  readonly skipped: boolean
  /** The largest offset, and the inbox's place of the newest event; 0 where there is none. */
  readonly head: number
  readonly head_place: number
}

// Autocommitted: the stream's row is locked for as long as this runs, and no longer. Twice changes
// nothing; after a lost answer it is simply run again.
export const sequenceEvents: Statement<
  { stream: string; mark: number; most: number; is_announced: boolean },
  SequencedRow
> = statement(
  'sequence_events',
  `
select s.moved, s.skipped, s.head::float8 as head, s.head_place::float8 as head_place
from millrace.sequence_events(
  $stream::text,
  $mark::float8::bigint,
  $most::int,
  $now::text::timestamptz,
  $is_announced::boolean
) s`,
)

// A walk that only looks: an event that was committed late lies before the mark.
export const lookBeforeMark: Statement<{ stream: string; mark: number }, { place: number }> =
  statement(
    'look_before_mark',
    `
select place::float8 as place
from millrace.event_inbox
where stream = $stream::text
  and place <= $mark::float8::bigint
order by place
limit 1`,
  )

// Streams in whose inbox something waits: one probe a stream, whatever its backlog.
export const waitingStreams: Statement<Record<string, never>, { stream: string }> = statement(
  'waiting_streams',
  `
with recursive s(stream) as (
  (select stream from millrace.event_inbox order by stream limit 1)
  union all
  select (
    select i.stream from millrace.event_inbox i where i.stream > s.stream order by i.stream limit 1
  )
  from s
  where s.stream is not null
)
select stream from s where stream is not null`,
)
