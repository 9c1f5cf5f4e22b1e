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
  /** No new try after this many milliseconds. */
  readonly forMs: number
  /** Ends the waiting: the last error is thrown. */
  readonly signal?: AbortSignal | undefined
}

const FIRST_PAUSE = 50
const LONGEST_PAUSE = 1_000

export async function repeat<T>(
  options: RepeatOptions,
  work: (isUncertain: boolean) => Promise<T>,
): Promise<T> {
  const until = options.clock.now() + options.forMs
  let isUncertain = false
  for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
    try {
      return await work(isUncertain)
    } catch (error) {
      if (!isPassing(error) || options.clock.now() + pause > until) throw error
      isUncertain ||= error.outcomeUnknown
    }
    await wait(options.clock, pause, options.signal)
    if (options.signal?.aborted === true) return work(isUncertain)
  }
}

/** Whether the same statement may succeed later. */
export function isPassing(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.retryable
}
