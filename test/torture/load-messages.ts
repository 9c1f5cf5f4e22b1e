/** What a load's parent tells its processes. */
export type Order =
  | { readonly what: 'go' }
  /** How many jobs a second from now on; null: as fast as they are done. */
  | { readonly what: 'rate'; readonly perSecond: number | null }
  /** How many jobs the workers have done so far. */
  | { readonly what: 'done'; readonly count: number }
  /** Asks for a report, which is of the time since the last one. */
  | { readonly what: 'report' }
  | { readonly what: 'stop' }

/** What the processes tell. */
export type News =
  | { readonly what: 'ready' }
  /** How many jobs were asked for, or done, so far. */
  | { readonly what: 'count'; readonly count: number }
  | { readonly what: 'report'; readonly report: LoadReport }

/** What a worker process saw since its last report; milliseconds. */
export interface LoadReport {
  readonly claims: Spread
  /** From the call of enqueue to the call of the handler. */
  readonly starts: Spread
  /** Processor time of the process since its start. */
  readonly cpuMs: number
}

export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

/** How often counts are told. */
export const TELL_EVERY = 50

/** Hands each order of the parent to `take`. Without its parent a program has no reason to be. */
export function onOrder(take: (order: Order) => void): void {
  process.on('disconnect', () => process.exit())
  process.on('message', take)
}

export function tell(news: News): void {
  process.send?.(news)
}
