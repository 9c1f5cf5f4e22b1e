import { statement } from './statement.ts'
import type { Statement } from './statement.ts'

/**
 * For the transaction that it is sent in: whoever wants a lock that an application holds waits a
 * second at most, and comes again, so that others behind are not held up (M7).
 */
export const limitLockWait: Statement<Record<string, never>, { bound: string }> = statement(
  'limit_lock_wait',
  `select set_config('lock_timeout', '1s', true) as bound`,
)
