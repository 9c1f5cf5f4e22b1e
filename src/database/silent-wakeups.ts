import type { Wakeups } from './wakeups.ts'

/** No hints at all (`wake: 'poll'`): whoever subscribes polls as often as without a listener. */
export function silentWakeups(): Wakeups {
  return {
    subscribe: () => () => undefined,
    hear: () => () => undefined,
    isListening: false,
    problem: undefined,
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
