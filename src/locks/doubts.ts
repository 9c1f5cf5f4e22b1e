import type { Clock } from '../core/clock.ts'
import { instantText } from '../core/instant-text.ts'

/**
 * When this client's clock was last found out of step (a stopped process, a suspended machine, a
 * reconnect). Others of the machine were stopped too and have not renewed yet: for one renewal period
 * of a lock, counted from then, it is not taken here because it has ended. A process that blocks for
 * seconds again and again is in doubt all the time; what comes soon after a doubt is not counted.
 */
export interface Doubts {
  /** The instant as text, `-infinity` if there was none. Asked after the clock was set. */
  last(): string
}

// Three times the longest period that take_lock keeps back.
const APART = 90_000

export function doubtsOf(clock: Clock, count: () => number): Doubts {
  let seen = count()
  let at = Number.NEGATIVE_INFINITY
  return {
    last() {
      if (count() !== seen) {
        seen = count()
        if (clock.now() - at > APART) at = clock.now()
      }
      return at === Number.NEGATIVE_INFINITY ? '-infinity' : instantText(at)
    },
  }
}
