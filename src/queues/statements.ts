import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** What was decided about a queue. */
export interface QueueRow {
  readonly queue: string
  readonly paused_at: number | null
  readonly defaults: string | null
}

/** A hint goes with the change, in the same commit, unless nobody is to send any (`wake: 'poll'`). */
export type Announced = {
  readonly queue: string
  readonly announce: boolean
}

const ANNOUNCED = `
hints as (
  select count(pg_notify('{{channel}}', 'queues')) as sent
  from changed
  where $announce::boolean
)
select changed.queue
from changed
where (select sent from hints) is not null`

export const readQueues: Statement<Record<string, never>, QueueRow> = statement(
  'read_queues',
  `
select queue, (extract(epoch from paused_at) * 1000)::float8 as paused_at, defaults::text as defaults
from millrace.queues
order by queue`,
)

// Beside those with a row: the queues in which anything waits, one probe each from name to name, and
// those that workers know.
export const listQueues: Statement<
  Record<string, never>,
  { queue: string; paused_at: number | null }
> = statement(
  'list_queues',
  `
with recursive waiting as (
  (select r.queue from millrace.ready r order by r.queue limit 1)
  union all
  select (select r.queue from millrace.ready r where r.queue > w.queue order by r.queue limit 1)
  from waiting w
  where w.queue is not null
),
known as (
  select queue from waiting where queue is not null
  union
  select queue from millrace.queues
  union
  select json_object_keys(w.queues) from millrace.workers w
)
select k.queue, (select (extract(epoch from q.paused_at) * 1000)::float8 from millrace.queues q where q.queue = k.queue) as paused_at
from known k
order by k.queue`,
)

// A queue that is paused already stays paused since then.
export const pauseQueue: Statement<Announced, { queue: string }> = statement(
  'pause_queue',
  `
with changed as (
  insert into millrace.queues as q (queue, paused_at)
  values ($queue::text, $now::text::timestamptz)
  on conflict (queue) do update set paused_at = coalesce(q.paused_at, excluded.paused_at)
  returning queue
),
${ANNOUNCED}`,
)

export const resumeQueue: Statement<Announced, { queue: string }> = statement(
  'resume_queue',
  `
with changed as (
  update millrace.queues
  set paused_at = null
  where queue = $queue::text
  returning queue
),
${ANNOUNCED}`,
)

export const setQueueDefaults: Statement<
  Announced & { readonly defaults: string | null },
  { queue: string }
> = statement(
  'set_queue_defaults',
  `
with changed as (
  insert into millrace.queues (queue, defaults)
  values ($queue::text, $defaults::text::json)
  on conflict (queue) do update set defaults = excluded.defaults
  returning queue
),
${ANNOUNCED}`,
)
