import { statement } from '../database/statement.ts'
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

/**
 * Writes the asks of a CTE. Bodies first, places from their RETURNING: an id that exists already
 * gets neither, so that the same ask again is a no-op even when its job has ended. In id order, so
 * that two batches with the same ids wait for each other and never deadlock (M6). The asks hold an id
 * once: a place then needs no look whether it is taken, which costs a WAL record a row (48 bytes).
 */
export const insertAsks = (asks: string): string => `
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options)
  select id, kind, queue, payload::json, priority, $now::text::timestamptz, options::json
  from ${asks}
  order by id
  on conflict (id) do nothing
  returning id
),
place as (
  insert into millrace.ready (job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures)
  select
    a.id, a.queue, a.kind, a.priority,
    greatest($now::text::timestamptz, a.due_at, $now::text::timestamptz + a.delay_ms * interval '1 millisecond'),
    coalesce(a.expires_at, $now::text::timestamptz + a.expires_after_ms * interval '1 millisecond'),
    a.lease_ms, 0, 0
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
    where due_at <= $hint_until::text::timestamptz
    group by queue
  ) h
)`

export const enqueueJobs: Statement<EnqueueParams, { id: string }> = statement(
  'enqueue_jobs',
  `
with x as materialized (
  select *
  from json_to_recordset($asks::text::json) as a(${ASK_COLUMNS}
  )
),
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
