import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

// One a transaction: of equal ones in the same transaction PostgreSQL delivers one.
export const notifyChannel: Statement<{ channel: string; payload: string }, { sent: number }> =
  statement(
    'notify_channel',
    `
select count(pg_notify($channel::text, $payload::text))::int4 as sent`,
  )
