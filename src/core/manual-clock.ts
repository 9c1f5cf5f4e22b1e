import type { Clock } from './clock.ts'

/**
 * A clock that stands still until it is moved; timers that come due fire in order as it moves. One
 * that is due when it is set fires in the next turn of the event loop, as on a running clock.
 */
export interface ManualClock extends Clock {
  /** Moves time forward by milliseconds and fires what came due on the way. */
  advance(ms: number): void
  /** How many timers are set: a test that ends with any has left a loop running. */
  readonly timers: number
}

interface Timer {
  readonly dueAt: number
  readonly callback: () => void
}

export function manualClock(start: number): ManualClock {
  let now = start
  const timers = new Set<Timer>()

  function soonest(until: number): Timer | undefined {
    let found: Timer | undefined
    for (const timer of timers) {
      if (timer.dueAt <= until && (found === undefined || timer.dueAt < found.dueAt)) found = timer
    }
    return found
  }

  function fire(timer: Timer): void {
    if (timers.delete(timer)) timer.callback()
  }

  return {
    now: () => now,
    after(ms, callback) {
      const timer: Timer = { dueAt: now + Math.max(0, ms), callback }
      timers.add(timer)
      if (ms <= 0) setImmediate(() => fire(timer))
      return () => timers.delete(timer)
    },
    advance(ms) {
      const until = now + ms
      for (let timer = soonest(until); timer !== undefined; timer = soonest(until)) {
        now = Math.max(now, timer.dueAt)
        fire(timer)
      }
      now = until
    },
    get timers() {
      return timers.size
    },
  }
}
