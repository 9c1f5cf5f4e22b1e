import type { StoredEvent } from './read-statements.ts'

/**
 * How many events to read at once: as many as asked for while they are small, fewer when the last
 * ones were large, so that what is read ahead stays near 4 MB.
 */
export interface BatchSize {
  readonly next: number
  read(events: readonly StoredEvent[]): void
}

const MOST_BYTES = 4_000_000
// Of events that nobody has seen yet: they may be of any size.
const FIRST = 100

export function batchSize(most: number): BatchSize {
  let next = Math.min(FIRST, most)
  return {
    get next() {
      return next
    },
    read(events) {
      if (events.length === 0) return
      const bytes = events.reduce((sum, { data }) => sum + data.length, 0)
      const fitting = Math.floor(MOST_BYTES / Math.max(1, bytes / events.length))
      next = Math.max(1, Math.min(most, fitting))
    },
  }
}
