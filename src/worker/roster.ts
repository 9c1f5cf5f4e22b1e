/**
 * The runs that live in this worker, from their claim until they are settled: what renewal names,
 * what recovery leaves alone, what shutdown ends.
 */
export interface LiveRun {
  readonly id: string
  readonly run: number
  readonly leaseMs: number
  /** By the database's clock, as the claim or the last renewal set it. */
  leaseEndsAt: number
  /** When the next renewal is due. */
  renewAt: number
  /** Its fate is decided: the lease is still renewed, but nothing is to be aborted any more. */
  isEnded: boolean
  /** It was told that its lease is over. */
  isTold: boolean
  abort(reason: Error): void
}

export interface Roster {
  add(run: LiveRun): void
  remove(run: LiveRun): void
  has(id: string, run: number): boolean
  get(id: string, run: number): LiveRun | undefined
  all(): IterableIterator<LiveRun>
  readonly size: number
  /** The shortest lease there ever was, in milliseconds; Infinity before the first. */
  readonly shortestLease: number
}

export function roster(): Roster {
  const runs = new Map<string, LiveRun>()
  let shortestLease = Number.POSITIVE_INFINITY
  return {
    add(run) {
      runs.set(keyOf(run.id, run.run), run)
      shortestLease = Math.min(shortestLease, run.leaseMs)
    },
    remove: (run) => void runs.delete(keyOf(run.id, run.run)),
    has: (id, run) => runs.has(keyOf(id, run)),
    get: (id, run) => runs.get(keyOf(id, run)),
    all: () => runs.values(),
    get size() {
      return runs.size
    },
    get shortestLease() {
      return shortestLease
    },
  }
}

function keyOf(id: string, run: number): string {
  return `${id} ${run}`
}
