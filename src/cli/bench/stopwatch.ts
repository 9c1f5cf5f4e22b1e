/** The clock of a bench, monotonic, in milliseconds. */
export function elapsedSince(begin: bigint): number {
  return Number(process.hrtime.bigint() - begin) / 1e6
}

/** What some work took: by the clock, and of this process's processor time. */
export interface Usage {
  readonly elapsedMs: number
  readonly nodeMs: number
}

export interface Stopwatch {
  stop(): Usage
}

export function startStopwatch(): Stopwatch {
  const begin = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  return {
    stop() {
      const elapsedMs = elapsedSince(begin)
      const { user, system } = process.cpuUsage(cpu)
      return { elapsedMs, nodeMs: (user + system) / 1_000 }
    },
  }
}
