import { instantText } from '../core/instant-text.ts'
import type { Ask } from './ask.ts'
import type { AskRow } from './enqueue-statements.ts'

/** An ask as the statements take it; what is not there is left out, and NULL in SQL. */
export function askRow(ask: Ask): AskRow {
  return {
    id: ask.id,
    kind: ask.kind,
    queue: ask.queue,
    payload: ask.payload,
    priority: ask.priority,
    lease_ms: ask.leaseMs,
    ...(ask.policyText === null ? {} : { options: ask.policyText }),
    ...(ask.delayMs === null ? {} : { delay_ms: ask.delayMs }),
    ...(ask.at === null ? {} : { due_at: instantText(ask.at) }),
    ...(ask.expiresAfterMs === null ? {} : { expires_after_ms: ask.expiresAfterMs }),
    ...(ask.expiresAt === null ? {} : { expires_at: instantText(ask.expiresAt) }),
  }
}
