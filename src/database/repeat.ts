import type { Clock } from '../core/clock.ts'
import { wait } from '../core/wait.ts'
import { DatabaseError } from '../errors.ts'

/**
 * Repeats work that failed for a reason that passes: a lost connection, a restart, a deadlock. The
 * work must be safe to repeat; it is told whether an earlier try may have taken effect, so that it
 * can look first (M8).
 */
export interface RepeatOptions {
  readonly clock: Clock
  /** No new try begins after this instant. Asked after each failure: a lease may have grown meanwhile. */
  readonly until: () => number
  /** Whether a failure passes. Default: when the error says that it does. */
  readonly passes?: ((error: DatabaseError) => boolean) | undefined
  /** Ends the waiting: one last try. */
  readonly signal?: AbortSignal | undefined
  /** Told of each failure that another try follows. */
  readonly onFailure?: ((error: DatabaseError) => void) | undefined
}

/** For `until`: as long as it takes. */
export function forever(): number {
  return Number.POSITIVE_INFINITY
}

const FIRST_PAUSE = 50
const LONGEST_PAUSE = 1_000

export async function repeat<T>(
  options: RepeatOptions,
  work: (isUncertain: boolean) => Promise<T>,
): Promise<T> {
  const { clock, until, passes = saysSo, signal } = options
  let isUncertain = false
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    try {
      return await work(isUncertain)
    } catch (error) {
      if (!(error instanceof DatabaseError) || !passes(error)) throw error
      if (clock.now() + pause > until()) throw error
      isUncertain ||= error.outcomeUnknown
      options.onFailure?.(error)
    }
    await wait(clock, pause, signal)
    if (signal?.aborted === true) return work(isUncertain)
  }
}

function saysSo(error: DatabaseError): boolean {
  return error.retryable
}
