import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** One ask of a batch, as `enqueue_jobs` reads it from `$asks`. Members that are not there are NULL. */
export interface AskRow {
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly payload: string
  readonly priority: number
  readonly options?: string
  readonly lease_ms: number
  readonly delay_ms?: number
  readonly due_at?: string
  readonly expires_after_ms?: number
  readonly expires_at?: string
}

export type EnqueueParams = {
  readonly asks: string
  readonly hint_until: string
  /** The instant of the ask where it is repeated; else the client's clock. */
  readonly now?: string
}

/** The columns of one ask in a recordset. */
export const ASK_COLUMNS = `
    id text, kind text, queue text, payload text, priority smallint, options text, lease_ms bigint,
    delay_ms float8, due_at timestamptz, expires_after_ms float8, expires_at timestamptz`

const BODY_COLUMNS = 'id, kind, queue, payload, priority, created_at, options'

const BODY = `id, kind, queue, payload::json, priority, ${NOW}, options::json`

const PLACE_COLUMNS = 'job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures'

const dueAt = (at: string, delayMs: string): string =>
  `greatest(${NOW}, ${at}, ${NOW} + ${delayMs} * interval '1 millisecond')`

const expiresAt = (at: string, afterMs: string): string =>
  `coalesce(${at}, ${NOW} + ${afterMs} * interval '1 millisecond')`

const PLACE = `
    a.id, a.queue, a.kind, a.priority,
    ${dueAt('a.due_at', 'a.delay_ms')},
    ${expiresAt('a.expires_at', 'a.expires_after_ms')},
    a.lease_ms, 0, 0`

/**
 * Writes the asks of a CTE. Bodies first, places from their RETURNING: an id that exists already
 * gets neither, so that the same ask again is a no-op even when its job has ended. In id order, so
 * that two batches with the same ids wait for each other and never deadlock (M6). The asks hold an id
 * once: a place then needs no look whether it is taken, which costs a WAL record a row (48 bytes).
 */
export const insertAsks = (asks: string): string => `
body as (
  insert into millrace.jobs (${BODY_COLUMNS})
  select ${BODY}
  from ${asks}
  order by id
  on conflict (id) do nothing
  returning id
),
place as (
  insert into millrace.ready (${PLACE_COLUMNS})
  select ${PLACE}
  from body
  join ${asks} a on a.id = body.id
  returning queue, due_at
)`

/** Announces what a CTE put into line, if it is due soon enough: one hint a queue, in the same commit (E8). */
export const hintsOf = (placed: string): string => `
hints as (
  select count(pg_notify('{{channel}}', 'due ' || floor(extract(epoch from h.due_at) * 1000)::bigint || ' ' || h.queue)) as sent
  from (
    select queue, min(due_at) as due_at
    from ${placed}
    where due_at <= (select $hint_until::text::timestamptz)
    group by queue
  ) h
)`

const ASKS = `
x as materialized (
  select *
  from json_to_recordset($asks::text::json) as a(${ASK_COLUMNS}
  )
)`

const NEW_BODIES = `
body as (
  insert into millrace.jobs (${BODY_COLUMNS})
  select ${BODY}
  from x
)`

// Asks whose ids are not in the database: made for them, and written for the first time. No look
// whether one is there, and no row that says it was not: a third less of the server's time than
// `enqueue_missing_jobs`. An id that is there all the same is an error, and nothing is written.
export const enqueueJobs: Statement<EnqueueParams, { hinted: number }> = statement(
  'enqueue_jobs',
  `
with ${ASKS},
${NEW_BODIES},
place as (
  insert into millrace.ready (${PLACE_COLUMNS})
  select ${PLACE}
  from x a
  returning queue, due_at
),
${hintsOf('place')}
select sent::int4 as hinted
from hints`,
)

/** What asks of a batch have in common where only their ids and payloads differ. */
export type AlikeParams = {
  /** Rows of `id` and `payload`. */
  readonly asks: string
  readonly kind: string
  readonly queue: string
  readonly priority: number
  readonly options: string | null
  readonly lease_ms: number
  readonly delay_ms: number | null
  readonly due_at: string | null
  readonly expires_after_ms: number | null
  readonly expires_at: string | null
  readonly hint_until: string
  readonly now?: string
}

// The same for asks that differ in id and payload only, as those of a bulk, or of many callers, mostly
// do: the rest is said once, not read from each row, and a quarter of the server's time less.
export const enqueueAlikeJobs: Statement<AlikeParams, { hinted: number }> = statement(
  'enqueue_alike_jobs',
  `
with x as materialized (
  select * from json_to_recordset($asks::text::json) as a(id text, payload text)
),
times as materialized (
  select
    ${dueAt('$due_at::text::timestamptz', '$delay_ms::float8')} as due_at,
    ${expiresAt('$expires_at::text::timestamptz', '$expires_after_ms::float8')} as expires_at
),
body as (
  insert into millrace.jobs (${BODY_COLUMNS})
  select id, $kind::text, $queue::text, payload::json, $priority::smallint, ${NOW}, $options::text::json
  from x
),
place as (
  insert into millrace.ready (${PLACE_COLUMNS})
  select
    id, $queue::text, $kind::text, $priority::smallint,
    (select due_at from times), (select expires_at from times), $lease_ms::bigint, 0, 0
  from x
)
select count(pg_notify('{{channel}}', 'due ' || floor(extract(epoch from due_at) * 1000)::bigint || ' ' || $queue::text))::int4 as hinted
from times
where due_at <= $hint_until::text::timestamptz`,
)

/** An ask, and who starts it as it is written; not there: it goes into line. */
export interface StartingRow extends AskRow {
  readonly worker?: string
}

// The same, for a batch of which some begin at once: their place is a lease of the resting worker,
// as a claim would have made it (L2). Nobody is hinted at those.
export const enqueueStartingJobs: Statement<EnqueueParams, { hinted: number }> = statement(
  'enqueue_starting_jobs',
  `
with x as materialized (
  select *
  from json_to_recordset($asks::text::json) as a(${ASK_COLUMNS}, worker text
  )
),
${NEW_BODIES},
place as (
  insert into millrace.ready (${PLACE_COLUMNS})
  select ${PLACE}
  from x a
  where worker is null
  returning queue, due_at
),
leased as (
  insert into millrace.leases (
    job_id, worker, queue, kind, priority, started_at, lease_ends_at, due_at, lease_ms, run, failures
  )
  select
    id, worker, queue, kind, priority, ${NOW},
    ${NOW} + lease_ms * interval '1 millisecond', ${NOW}, lease_ms, 1, 0
  from x
  where worker is not null
),
${hintsOf('place')}
select sent::int4 as hinted
from hints`,
)

export const enqueueMissingJobs: Statement<EnqueueParams, { id: string }> = statement(
  'enqueue_missing_jobs',
  `
with ${ASKS},
${insertAsks('x')},
${hintsOf('place')}
select body.id
from body
where (select sent from hints) is not null`,
)

// After a commit of unknown outcome (M8): which of these asks took effect? Ours are known by the instant.
export const enqueuedJobs: Statement<{ ids: string; asked_at: string }, { id: string }> = statement(
  'enqueued_jobs',
  `
select id
from millrace.jobs
where id = any ($ids::text::text[])
  and created_at = $asked_at::text::timestamptz`,
)
