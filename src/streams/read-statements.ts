import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface StoredEvent {
  readonly event_offset: number
  readonly id: string
  readonly key: string | null
  readonly data: string
  readonly published_at: number
}

type ReadParams = { readonly stream: string; readonly after: number; readonly most: number }

const COLUMNS = `
  event_offset::float8 as event_offset, id, key, data::text as data,
  (extract(epoch from published_at) * 1000)::float8 as published_at`

export const readEvents: Statement<ReadParams, StoredEvent> = statement(
  'read_events',
  `
select ${COLUMNS}
from millrace.events e
where e.stream = $stream::text
  and e.event_offset > $after::float8::bigint
order by e.event_offset
limit $most::int`,
)

export const readEventsOfKey: Statement<ReadParams & { readonly key: string }, StoredEvent> =
  statement(
    'read_events_of_key',
    `
select ${COLUMNS}
from millrace.events e
where e.stream = $stream::text
  and e.key = $key::text
  and e.event_offset > $after::float8::bigint
order by e.event_offset
limit $most::int`,
  )
