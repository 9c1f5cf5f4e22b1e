import type { Runner } from '../database/executor.ts'
import { mergedAsks } from './dedup-statements.ts'
import { enqueuedJobs } from './enqueue-statements.ts'
import type { EnqueueResult } from './job.ts'

/**
 * Whether the commit of a call took effect whose answer was lost (M8): all or nothing, so one ask
 * that wrote something tells for all. Where none did, there is nothing to have been lost.
 */
export async function tookEffect(
  runner: Runner,
  results: readonly EnqueueResult[],
  askedAt: string,
): Promise<boolean> {
  const inserted = results.find(({ outcome }) => outcome === 'inserted')
  if (inserted !== undefined) {
    const params = { ids: `{${inserted.id}}`, asked_at: askedAt }
    return (await runner.run(enqueuedJobs, params)).length > 0
  }
  const merged = results.find(({ outcome }) => outcome !== 'kept')
  if (merged === undefined) return true
  const params = { ids: `{${merged.asked}}`, asked_at: askedAt }
  return (await runner.run(mergedAsks, params)).length > 0
}
