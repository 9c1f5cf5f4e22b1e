import type { HandledKind } from './handlers.ts'

/**
 * Who may run how much (C4): the worker's concurrency, a cap per queue, a cap per kind. What waits for
 * a slot counts as if it ran. A kind or a
 * queue at its cap is not asked for, so that its jobs stay pending for other workers.
 */
export interface Slots {
  /** How many more the worker can use; 0 while those that wait for a slot are plenty. */
  free(): number
  /** How many more runs of the kind, or in the queue, fit; without a cap as many as the worker has. */
  freeOfKind(kind: string): number
  freeOfQueue(queue: string): number
  take(kind: string, queue: string): void
  give(kind: string, queue: string): void
  /** How many runs there are; who waits for a slot is none. */
  readonly busy: number
  /** How many more could begin at once. */
  readonly idle: number
}

const NONE = (): number => 0

export interface SlotOptions {
  readonly concurrency: number
  readonly kinds: ReadonlyMap<string, HandledKind>
  /** Caps of the queues that have one. */
  readonly queueCaps: ReadonlyMap<string, number>
  /** How many may be claimed beyond the slots, to wait for one. */
  readonly ahead?: (() => number) | undefined
}

export function slots(options: SlotOptions): Slots {
  const { concurrency, kinds, queueCaps, ahead = NONE } = options
  const byKind = new Map<string, number>()
  const byQueue = new Map<string, number>()
  let taken = 0

  function room(): number {
    return Math.max(0, concurrency + ahead() - taken)
  }

  function within(cap: number | null | undefined, used: number): number {
    return Math.max(0, Math.min((cap ?? Number.POSITIVE_INFINITY) - used, room()))
  }

  return {
    free() {
      const waiting = taken - concurrency
      // One claim for many, not one for each that begins.
      return waiting > 0 && waiting * 2 > ahead() ? 0 : room()
    },
    freeOfKind: (kind) => within(kinds.get(kind)?.concurrency, byKind.get(kind) ?? 0),
    freeOfQueue: (queue) => within(queueCaps.get(queue), byQueue.get(queue) ?? 0),
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
    get busy() {
      return Math.min(taken, concurrency)
    },
    get idle() {
      return Math.max(0, concurrency - taken)
    },
  }
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by
  // Names of queues come from outside and may be many; those without runs are forgotten.
  if (next === 0) counts.delete(name)
  else counts.set(name, next)
}
