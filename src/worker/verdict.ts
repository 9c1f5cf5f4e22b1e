import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'

/** Throw in a handler: the job is dead at once, whatever failures it has left. */
export class GiveUp extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(why, options)
    this.name = 'GiveUp'
  }
}

/**
 * Throw in a handler: a failure like any other, but the next run comes after `delay` in place of
 * the backoff. It counts: a handler that asks for more for ever ends at the limit.
 */
export class RetryIn extends Error {
  /** Milliseconds. */
  readonly delayMs: number

  constructor(delay: Duration, why = 'asked to be run again later', options?: ErrorOptions) {
    super(why, options)
    this.name = 'RetryIn'
    this.delayMs = milliseconds('delay', delay, { zero: true })
  }
}

/** Which of the two was thrown, if any. A proxy may throw at the question itself. */
export function verdictOf(thrown: unknown): GiveUp | RetryIn | undefined {
  try {
    return thrown instanceof GiveUp || thrown instanceof RetryIn ? thrown : undefined
  } catch {
    return undefined
  }
}
