import { setTimeout as pause } from 'node:timers/promises'

export interface UntilOptions {
  /** Gives up after this many milliseconds: an upper bound for slow machines, not an expectation. Default 20 000. */
  readonly ms?: number | undefined
  /** Milliseconds between two looks. Default 10. */
  readonly every?: number | undefined
}

/** What is left of a type once what counts as "not yet" is taken out. */
export type Truthy<T> = T extends false | 0 | '' | null | undefined ? never : T

/**
 * Looks again and again until what `look` answers is truthy, and answers that. What `look` throws
 * counts as "not yet", so that an assertion can be waited for; it is the cause when time is up.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  { ms = 20_000, every = 10 }: UntilOptions = {},
): Promise<Truthy<T>> {
  const end = performance.now() + ms
  let cause: unknown
  do {
    try {
      const seen = await look()
      if (isTruthy(seen)) return seen
      cause = undefined
    } catch (error) {
      cause = error
    }
    await pause(every)
  } while (performance.now() < end)
  throw new Error(`it did not happen within ${ms} ms: ${look.toString()}`, { cause })
}

function isTruthy<T>(value: T): value is T & Truthy<T> {
  return Boolean(value)
}
