import type { Clock } from './clock.ts'

/** Resolves after `ms` on the clock, or at once when `signal` aborts: waiting never throws, the caller looks at the signal. */
export function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** A bell that a loop waits for: rung while nobody waits, it is heard by the next wait. */
export interface Bell {
  ring(): void
  /** Resolves when rung, true, or after `ms`, false, whichever comes first. */
  wait(ms: number): Promise<boolean>
}

export function bell(clock: Clock): Bell {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
    },
    wait(ms) {
      if (rung) {
        rung = false
        return Promise.resolve(true)
      }
      return new Promise((resolve) => {
        const cancel = clock.after(ms, finish)
        function finish(): void {
          cancel()
          wake = undefined
          resolve(rung)
          rung = false
        }
        wake = finish
      })
    },
  }
}
