import type { HandledKind } from './handlers.ts'

/**
 * Who may run how much (C4): the worker's concurrency, a cap per queue, a cap per kind. A kind or a
 * queue at its cap is not asked for, so that its jobs stay pending for other workers.
 */
export interface Slots {
  /** How many more runs fit the worker as a whole. */
  free(): number
  /** How many more runs of the kind, or in the queue, fit; without a cap as many as the worker has. */
  freeOfKind(kind: string): number
  freeOfQueue(queue: string): number
  take(kind: string, queue: string): void
  give(kind: string, queue: string): void
  readonly taken: number
}

export interface SlotOptions {
  readonly concurrency: number
  readonly kinds: ReadonlyMap<string, HandledKind>
  /** Caps of the queues that have one. */
  readonly queueCaps: ReadonlyMap<string, number>
}

export function slots(options: SlotOptions): Slots {
  const { concurrency, kinds, queueCaps } = options
  const byKind = new Map<string, number>()
  const byQueue = new Map<string, number>()
  let taken = 0

  function within(cap: number, used: number): number {
    return Math.max(0, Math.min(cap - used, concurrency - taken))
  }

  return {
    free: () => Math.max(0, concurrency - taken),
    freeOfKind: (kind) =>
      within(kinds.get(kind)?.concurrency ?? concurrency, byKind.get(kind) ?? 0),
    freeOfQueue: (queue) => within(queueCaps.get(queue) ?? concurrency, byQueue.get(queue) ?? 0),
    take(kind, queue) {
      taken += 1
      count(byKind, kind, 1)
      count(byQueue, queue, 1)
    },
    give(kind, queue) {
      taken -= 1
      count(byKind, kind, -1)
      count(byQueue, queue, -1)
    },
    get taken() {
      return taken
    },
  }
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by
  // Names of queues come from outside and may be many; those without runs are forgotten.
  if (next === 0) counts.delete(name)
  else counts.set(name, next)
}
