import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** One event of a batch, as `publish_events` reads it from `$events`. */
export interface EventRow {
  readonly stream: string
  readonly id: string
  readonly key?: string
  /** JSON text. */
  readonly data: string
}

/**
 * Into the inbox, in the order of the batch: no unique index, so that no publisher waits for another.
 * Run twice it leaves an event twice in the inbox, and sequencing drops the second. The hint goes
 * with the commit, one for each stream.
 */
export const publishEvents: Statement<
  { events: string; is_announced: boolean },
  { published: number }
> = statement(
  'publish_events',
  `
with x as materialized (
  select *
  from json_to_recordset($events::text::json) as x(stream text, id text, key text, data text)
),
placed as (
  insert into millrace.event_inbox (stream, id, key, data, published_at)
  select stream, id, key, data::json, ${NOW}
  from x
  returning stream
),
hints as (
  select count(pg_notify('{{channel}}', 'stream ' || h.stream)) as sent
  from (select distinct stream from placed) h
  where $is_announced::boolean
)
select (select count(*) from placed)::int4 as published
from hints
where sent is not null`,
)
