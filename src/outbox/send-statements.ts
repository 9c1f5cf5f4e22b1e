import { NOW, statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { ASK_COLUMNS } from '../jobs/enqueue-statements.ts'
import type { AskRow } from '../jobs/enqueue-statements.ts'

/** One message with a key, as `send_messages` reads it from `$messages`. */
export interface MessageRow extends AskRow {
  /** Its place in the call: that is its place in the line too. */
  readonly nth: number
  readonly key: string
  readonly halts: boolean
}

/**
 * B1: a message with a key stands in `ready`, but is not due, and in the inbox; its place in the line
 * it gets from the commit. No row of the key is touched, so that no sender waits for another, and one
 * that stays open delays only its own messages. Run twice it writes once: all else reads what became
 * a new body. Each carries its id as sibling, so that messages never meet as asks with a key do.
 */
export const sendMessages: Statement<{ messages: string; hint_until: string }, { id: string }> =
  statement(
    'send_messages',
    `
with x as materialized (
  select *
  from json_to_recordset($messages::text::json) as a(nth int, key text, halts boolean, ${ASK_COLUMNS}
  )
),
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, dedup_key)
  select id, kind, queue, payload::json, priority, ${NOW}, options::json, key
  from x
  order by id
  on conflict (id) do nothing
  returning id
),
place as (
  insert into millrace.ready (
    job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures, reason, dedup_key, sibling
  )
  select
    x.id, x.queue, x.kind, x.priority, 'infinity',
    coalesce(x.expires_at, ${NOW} + x.expires_after_ms * interval '1 millisecond'),
    x.lease_ms, 0, 0, 'line', x.key, x.id
  from body
  join x on x.id = body.id
),
arrived as (
  insert into millrace.outbox_inbox (job_id, kind, key, due_at, halts)
  select
    x.id, x.kind, x.key,
    ${NOW} + coalesce(x.delay_ms, 0) * interval '1 millisecond',
    x.halts
  from body
  join x on x.id = body.id
  order by x.nth
),
hints as (
  select count(pg_notify('{{channel}}', 'outbox')) as sent
  from (select 1 from body limit 1) h
  where $hint_until::text::timestamptz > '-infinity'
)
select body.id
from body
where (select sent from hints) is not null`,
  )
