import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Bell } from '../core/wait.ts'
import type { WakeHint } from '../database/hint.ts'
import type { Wakeups } from '../database/wakeups.ts'

/**
 * Hints on streams for whoever waits in this client: each reader has a bell, which is rung when
 * something may have come for it. Hints may be lost; how long to sleep without one is said here too.
 */
export interface Bells {
  /** A bell that is rung for the hints that `hear` says are for it. It is told of `resync` too. */
  hang(hear: (hint: WakeHint) => boolean): HungBell
}

export interface HungBell extends Bell, Disposable {
  /** How long to sleep when no hint comes, in milliseconds. */
  readonly patience: number
}

const LISTENING_POLL = 30_000
const BLIND_POLL = 1_000

export function bells(clock: Clock, wakeups: () => Wakeups): Bells {
  return {
    hang(hear) {
      const heard = wakeups()
      const own = bell(clock)
      const unsubscribe = heard.subscribe((hint) => {
        if (hear(hint)) own.ring()
      })
      return {
        ...own,
        get patience() {
          return heard.isListening ? LISTENING_POLL : BLIND_POLL
        },
        [Symbol.dispose]: unsubscribe,
      }
    },
  }
}
