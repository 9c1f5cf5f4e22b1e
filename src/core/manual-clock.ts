import type { Clock } from './clock.ts'

/** A clock that stands still until it is moved; timers that come due fire in order as it moves. */
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

  return {
    now: () => now,
    after(ms, callback) {
      const timer: Timer = { dueAt: now + Math.max(0, ms), callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const until = now + ms
      for (let timer = soonest(until); timer !== undefined; timer = soonest(until)) {
        timers.delete(timer)
        now = Math.max(now, timer.dueAt)
        timer.callback()
      }
      now = until
    },
    get timers() {
      return timers.size
    },
  }
}
