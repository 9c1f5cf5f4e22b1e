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

/**
 * By the job's id alone, which is at hand: a text made of id and number would be hashed anew for each
 * look. Two runs of one job live here only while one that lost its lease has not ended yet.
 */
export function roster(onShorterLease?: () => void): Roster {
  const latest = new Map<string, LiveRun>()
  const others = new Set<LiveRun>()
  let shortestLease = Number.POSITIVE_INFINITY

  function get(id: string, run: number): LiveRun | undefined {
    const found = latest.get(id)
    if (found === undefined || found.run === run || others.size === 0) {
      return found?.run === run ? found : undefined
    }
    for (const each of others) if (each.id === id && each.run === run) return each
    return undefined
  }

  return {
    add(run) {
      const before = latest.get(run.id)
      if (before !== undefined && before.run !== run.run) others.add(before)
      latest.set(run.id, run)
      if (run.leaseMs >= shortestLease) return
      shortestLease = run.leaseMs
      onShorterLease?.()
    },
    remove(run) {
      if (others.delete(run) || latest.get(run.id) !== run) return
      latest.delete(run.id)
    },
    has: (id, run) => get(id, run) !== undefined,
    get,
    *all() {
      yield* latest.values()
      yield* others
    },
    get size() {
      return latest.size + others.size
    },
    get shortestLease() {
      return shortestLease
    },
  }
}
