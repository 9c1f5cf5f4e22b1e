/** What a bench measures. Times are milliseconds. */
export interface Figures {
  readonly server: ServerFacts
  /** Half of the answers to `select 1` took at most this long. */
  readonly roundTripMs: number
  /** The same for an insert of one row that commits by itself. */
  readonly commitMs: number
  readonly phases: readonly Phase[]
  readonly latency: Latency
}

export interface ServerFacts {
  readonly version: string
  readonly synchronousCommit: string
}

export type PhaseName = 'one-by-one' | 'callers' | 'bulk' | 'drain-default' | 'drain'

export interface Phase {
  readonly name: PhaseName
  /** For people, as `drain, 100 runs at once`. */
  readonly title: string
  readonly jobs: number
  readonly elapsedMs: number
  /** Processor time of this process, all threads. */
  readonly nodeMs: number
}

/** From the call of enqueue to the begin of its handler, in a worker that has nothing else to do. */
export interface Latency {
  readonly jobs: number
  readonly p50: number
  readonly p99: number
}

export function jobsPerSecond({ jobs, elapsedMs }: Phase): number {
  return (jobs / Math.max(elapsedMs, SHORTEST)) * 1_000
}

export function millisecondsEach({ jobs, elapsedMs }: Phase): number {
  return elapsedMs / Math.max(jobs, 1)
}

/** The smallest value that at least this share of the values does not exceed; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
}

// What no clock tells apart from nothing.
const SHORTEST = 0.001

/** How many jobs each phase takes: those that wait for each commit fewer, so that a bench takes some seconds. */
export interface Sizes {
  readonly oneByOne: number
  readonly callers: number
  readonly bulk: number
  readonly latency: number
}

export function sizesOf(jobs: number): Sizes {
  return {
    oneByOne: Math.min(500, Math.ceil(jobs / 40)),
    callers: Math.min(10_000, Math.ceil(jobs / 2)),
    bulk: jobs,
    latency: Math.min(100, jobs),
  }
}
