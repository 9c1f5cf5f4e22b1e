import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** A consumer of a stream. */
export type ConsumerPlace = { readonly stream: string; readonly consumer: string }

/**
 * A consumer's name for one process, if it is free, its own already (the answer was lost), or its
 * lease has ended. One that is locked, by a batch that is just being committed, is not waited for.
 */
export const takeConsumer: Statement<
  ConsumerPlace & { holder: string; lease_ms: number },
  { token: number }
> = statement(
  'take_consumer',
  `
with free as materialized (
  select c.token
  from millrace.consumers c
  where c.stream = $stream::text
    and c.consumer = $consumer::text
    and (c.holder is null or c.holder = $holder::text or c.lease_ends_at <= $now::text::timestamptz)
  for update skip locked
),
taken as (
  update millrace.consumers c
  set
    holder = $holder::text,
    lease_ends_at = $now::text::timestamptz + $lease_ms::float8 * interval '1 millisecond',
    token = c.token + 1
  where c.stream = $stream::text
    and c.consumer = $consumer::text
    and (c.holder is null or c.holder = $holder::text or c.lease_ends_at <= $now::text::timestamptz)
    and (select count(*) from free) = 1
  returning c.token
),
made as (
  insert into millrace.consumers as c (stream, consumer, holder, lease_ends_at, token)
  select
    $stream::text, $consumer::text, $holder::text,
    $now::text::timestamptz + $lease_ms::float8 * interval '1 millisecond', 1
  where not exists (
    select from millrace.consumers c where c.stream = $stream::text and c.consumer = $consumer::text
  )
  on conflict (stream, consumer) do nothing
  returning c.token
)
select token::float8 as token from taken
union all
select token::float8 from made`,
)

export interface ConsumerRow {
  readonly token: number
  readonly saved_offset: number | null
  readonly holder: string | null
  readonly lease_ends_at: number | null
}

// After a take in a statement of its own: a batch of the holder before may have been committed
// between the snapshot of the take and its lock.
export const lookAtConsumer: Statement<ConsumerPlace, ConsumerRow> = statement(
  'look_at_consumer',
  `
select
  token::float8 as token,
  saved_offset::float8 as saved_offset,
  holder,
  (extract(epoch from lease_ends_at) * 1000)::float8 as lease_ends_at
from millrace.consumers
where stream = $stream::text and consumer = $consumer::text`,
)

const GUARD = `
  c.stream = $stream::text
    and c.consumer = $consumer::text
    and c.token = $token::float8::bigint
    and c.holder is not null`

// Renews the lease and saves what was acknowledged, newest wins. A row that somebody holds is
// skipped: only a second look tells whether the consumer is lost.
export const keepConsumer: Statement<
  ConsumerPlace & { token: number; offset: number | null; lease_ms: number },
  { lease_ends_at: number }
> = statement(
  'keep_consumer',
  `
with held as materialized (
  select c.token
  from millrace.consumers c
  where ${GUARD}
  for no key update skip locked
)
update millrace.consumers c
set
  saved_offset = greatest(c.saved_offset, $offset::float8::bigint),
  lease_ends_at = greatest(
    c.lease_ends_at,
    $now::text::timestamptz + $lease_ms::float8 * interval '1 millisecond'
  )
where ${GUARD}
  and (select count(*) from held) = 1
returning (extract(epoch from c.lease_ends_at) * 1000)::float8 as lease_ends_at`,
)

// Saves the last word and frees the name; stand-bys hear of it.
export const releaseConsumer: Statement<
  ConsumerPlace & { token: number; offset: number | null; is_announced: boolean },
  { sent: number }
> = statement(
  'release_consumer',
  `
with freed as (
  update millrace.consumers c
  set
    saved_offset = greatest(c.saved_offset, $offset::float8::bigint),
    holder = null,
    lease_ends_at = null
  where ${GUARD}
  returning c.stream
)
select count(pg_notify('{{channel}}', 'consumer ' || stream))::int4 as sent
from freed
where $is_announced::boolean`,
)

export type MoveParams = ConsumerPlace & {
  readonly token: number
  readonly began_at: number
  readonly offset: number
}

// The last statement of a batch's transaction. Guarded by the token and by the offset at which the
// batch began: it waits for a commit of the same batch that is still under way, and then misses.
export const moveConsumer: Statement<MoveParams, { token: number }> = statement(
  'move_consumer',
  `
update millrace.consumers c
set saved_offset = $offset::float8::bigint
where ${GUARD}
  and coalesce(c.saved_offset, 0) = $began_at::float8::bigint
returning c.token::float8 as token`,
)

// By anybody, so without a token; never back, never beyond the stream's head.
export const saveOffset: Statement<
  ConsumerPlace & { offset: number },
  { head: number; is_saved: boolean }
> = statement(
  'save_offset',
  `
with head as materialized (
  select coalesce((
    select e.event_offset
    from millrace.events e
    where e.stream = $stream::text
    order by e.event_offset desc
    limit 1
  ), 0) as head
),
saved as (
  insert into millrace.consumers as c (stream, consumer, saved_offset, token)
  select $stream::text, $consumer::text, $offset::float8::bigint, 0
  from head
  where head >= $offset::float8::bigint
  on conflict (stream, consumer) do update
  set saved_offset = excluded.saved_offset
  where coalesce(c.saved_offset, -1) < excluded.saved_offset
  returning 1
)
select head::float8 as head, exists (select from saved) as is_saved
from head`,
)
