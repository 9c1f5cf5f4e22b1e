import type { ClaimedRow } from './claim-statements.ts'
import type { ClaimPlan } from './probes.ts'

/**
 * The queues of a worker take turns (C1): claim by claim, and within a claim that brings more jobs
 * than there are slots job by job, so that a long queue does not wait in front of a short one.
 */
export function shareOfQueue(
  most: number,
  { idle, queues }: { readonly idle: number; readonly queues: number },
): number {
  return most > idle && queues > 1 ? Math.max(idle, Math.ceil(most / queues)) : most
}

/** Jobs of several queues in turns, each queue's in its order: for those that wait for slots (C1). */
export function alternating(jobs: readonly ClaimedRow[]): readonly ClaimedRow[] {
  const places = new Map<string, number>()
  const placed = jobs.map((job) => {
    const place = places.get(job.queue) ?? 0
    places.set(job.queue, place + 1)
    return { job, place }
  })
  if (places.size < 2) return jobs
  return placed.toSorted((a, b) => a.place - b.place).map(({ job }) => job)
}

/**
 * Whether a probe gave as much as it was asked for, so that more may be behind it; where the claim
 * counts, whether a queue did.
 */
export function isCut({ rows, mustCount }: ClaimPlan, claimed: readonly ClaimedRow[]): boolean {
  const ofQueue = new Map<string, number>()
  const ofLevel = new Map<string, number>()
  for (const { queue, priority } of claimed) {
    const level = `${priority} ${queue}`
    ofQueue.set(queue, (ofQueue.get(queue) ?? 0) + 1)
    ofLevel.set(level, (ofLevel.get(level) ?? 0) + 1)
  }
  return rows.some(
    ({ queue, level, most, queue_most }) =>
      (ofLevel.get(`${level} ${queue}`) ?? 0) >= most ||
      (mustCount && (ofQueue.get(queue) ?? 0) >= queue_most),
  )
}
