import type { Runner } from '../database/executor.ts'
import { pruneLocks, pruneLockWaiters } from './lock-admin-statements.ts'

/**
 * Removes locks that have been free for a day, and places in lines that nobody came back to; at most
 * so many of each. By then the clock, in which new tokens are counted, is past the old ones. Answers
 * how many it removed of what there is more of.
 */
export async function forgetLocks(runner: Runner, most: number): Promise<number> {
  const [locks] = await runner.run(pruneLocks, { most })
  const [waiters] = await runner.run(pruneLockWaiters, { most })
  return Math.max(locks?.pruned ?? 0, waiters?.pruned ?? 0)
}
