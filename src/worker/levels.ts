import type { ClaimedRow, WaitingRow } from './claim-statements.ts'

/**
 * Which levels of a queue are known to wait, and how many slots a queue has filled: what rotation
 * decides by. Known from a look each second while there is more work than slots, since a claim that
 * was filled by one level says nothing of the others; a level that did not give what was reserved
 * for it is taken for empty until the next look.
 */
export interface Levels {
  /** The levels of the queue that wait, the best first. */
  waitingIn(queue: string): readonly number[]
  filledBy(queue: string): number
  /** What a look found, in place of what was known. */
  learn(rows: readonly WaitingRow[]): void
  forget(queue: string, level: number): void
  /** Slots were filled. */
  count(claimed: readonly ClaimedRow[]): void
}

const NONE: readonly number[] = []

export function levels(): Levels {
  const filled = new Map<string, number>()
  let waiting = new Map<string, readonly number[]>()

  return {
    waitingIn: (queue) => waiting.get(queue) ?? NONE,
    filledBy: (queue) => filled.get(queue) ?? 0,
    learn(rows) {
      waiting = new Map()
      for (const { queue, level } of rows) {
        const known = waiting.get(queue) ?? NONE
        if (!known.includes(level)) waiting.set(queue, ordered([...known, level]))
      }
    },
    forget(queue, level) {
      const known = waiting.get(queue) ?? NONE
      waiting.set(
        queue,
        known.filter((each) => each !== level),
      )
    },
    count(claimed) {
      for (const { queue } of claimed) filled.set(queue, (filled.get(queue) ?? 0) + 1)
    },
  }
}

function ordered(found: readonly number[]): readonly number[] {
  return found.toSorted((a, b) => a - b)
}
