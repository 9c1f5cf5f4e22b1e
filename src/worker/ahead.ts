import type { Clock } from '../core/clock.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { ClaimedRow } from './claim-statements.ts'

/**
 * How many jobs are worth claiming before there is a slot for them. A claim costs the server about a
 * millisecond however few rows it brings, so ten slots of short runs would spend their time waiting
 * for claims (measured: 223 µs of processor time a job with claims of 10, 58 with claims of 200). But
 * a job that waits here waits for no other worker: so only as many are held as will begin within the
 * horizon, by the pace of the runs that ended and the age of those that did not. Slow runs: none.
 */
export interface Ahead {
  /** How many jobs may wait for a slot now. */
  most(): number
  /** A claim brought these. */
  claimed(rows: readonly ClaimedRow[]): void
  /** A run began at this instant. */
  began(at: number): void
  /** One that began then has ended. */
  ended(beganAt: number): void
}

export interface AheadOptions {
  readonly clock: Clock
  readonly concurrency: number
  /** Never more than this; 0: only what there are slots for. */
  readonly limit: number
}

// Measured with runs that do nothing: 25 ms would hold 500, and more gains nothing.
const HORIZON = 50
// Payloads that wait are memory.
const MOST_BYTES = 4 * 1024 * 1024
// Averages follow about the last so many.
const RUNS_REMEMBERED = 32
const ROWS_REMEMBERED = 200
// The clock tells whole milliseconds, and most short runs none.
const SHORTEST_RUN = 0.05
// A worker that dies counts as a failure of what it holds, begun or not: where for more jobs than
// this that failure would be the last, nothing is held.
const LAST_CHANCES = 0.05

export function ahead({ clock, concurrency, limit }: AheadOptions): Ahead {
  const pace = average(RUNS_REMEMBERED)
  const bytes = average(ROWS_REMEMBERED)
  const lastChances = average(ROWS_REMEMBERED)
  let running = 0
  let sumOfBegins = 0

  /** What a slot is taken for: as long as the last runs took, or as those took already that go on. */
  function runMs(): number {
    const age = running === 0 ? 0 : clock.now() - sumOfBegins / running
    return Math.max(pace.value, age, SHORTEST_RUN)
  }

  return {
    most() {
      if (limit === 0 || pace.count < concurrency || lastChances.value > LAST_CHANCES) return 0
      const begun = Math.floor((HORIZON * concurrency) / runMs())
      return Math.min(limit, begun, Math.floor(MOST_BYTES / Math.max(1, bytes.value)))
    },
    claimed(rows) {
      for (const row of rows) {
        bytes.add(row.payload?.length ?? 0)
        lastChances.add(isLastChance(row) ? 1 : 0)
      }
    },
    began(at) {
      running += 1
      sumOfBegins += at
    },
    ended(beganAt) {
      running -= 1
      sumOfBegins -= beganAt
      pace.add(clock.now() - beganAt)
    },
  }
}

/** One more failure, even one that is not its own, would be its last. */
export function isLastChance(row: ClaimedRow): boolean {
  return row.failures + 1 >= decodePolicy(row.options).failures
}

interface Average {
  readonly value: number
  readonly count: number
  add(value: number): void
}

/** The mean of the first values, then a moving one. */
function average(remembered: number): Average {
  let value = 0
  let count = 0
  return {
    get value() {
      return value
    },
    get count() {
      return count
    },
    add(next) {
      count += 1
      value += (next - value) / Math.min(count, remembered)
    },
  }
}
