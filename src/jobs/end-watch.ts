import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Runner } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { ClosedError, DatabaseError } from '../errors.ts'
import { announceWaits, endedJobs } from './wait-statements.ts'

/**
 * Knows when jobs end, for all who wait in one client. Who waits says so on the channel; workers
 * remember that (`worker/awaited.ts`) and say when they settled such a job, so that a job nobody
 * waits for costs nothing. That is only a hint: ends that come without one (a cancel, a recovery, an
 * expiry, a worker that did not hear) are found by looking, in one statement for all who wait, after
 * 20 ms and then less and less often, once a second at last.
 */
export interface EndWatch {
  /** Resolves when the job does not live any more, or when `signal` aborts. Rejects when the client closes or the database refuses. */
  ended(id: string, signal: AbortSignal): Promise<void>
  close(): void
}

export interface EndWatchOptions {
  readonly clock: Clock
  readonly runner: () => Runner
  readonly wakeups: () => Wakeups
  readonly hintUntil: () => string
}

interface Waiter {
  readonly id: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

const FIRST_PAUSE = 20
const LONGEST_PAUSE = 1_000

export function endWatch(options: EndWatchOptions): EndWatch {
  const { clock, runner } = options
  const waiters = new Set<Waiter>()
  const alarm = bell(clock)
  let unsubscribe: (() => void) | undefined
  let isLooking = false
  let isClosed = false
  let pause = FIRST_PAUSE
  let newcomers: string[] = []

  /** Goes on for as long as anybody waits. */
  async function look(): Promise<void> {
    isLooking = true
    while (waiters.size > 0) {
      try {
        await lookOnce()
      } catch (error) {
        if (!passes(error)) rejectAll(error)
      }
      if (waiters.size > 0) await alarm.wait(pause)
      pause = Math.min(LONGEST_PAUSE, pause * 2)
    }
    isLooking = false
  }

  // Announced before the look: a job that ends after the look was announced in time, or nearly.
  async function lookOnce(): Promise<void> {
    if (newcomers.length > 0) {
      const ids = newcomers
      newcomers = []
      await runner().run(announceWaits, { ids: arrayOf(ids), hint_until: options.hintUntil() })
    }
    const rows = await runner().run(endedJobs, { ids: arrayOf([...waiters].map(({ id }) => id)) })
    const ended = new Set(rows.map(({ id }) => id))
    for (const each of waiters) if (ended.has(each.id)) each.resolve()
  }

  function rejectAll(error: unknown): void {
    for (const each of waiters) each.reject(error)
    waiters.clear()
  }

  function subscribe(): void {
    unsubscribe ??= options.wakeups().subscribe((hint) => {
      if (hint.type === 'resync' || (hint.type === 'ended' && isAwaited(hint.id))) alarm.ring()
    })
  }

  function isAwaited(id: string): boolean {
    for (const each of waiters) if (each.id === id) return true
    return false
  }

  return {
    ended(id, signal) {
      if (isClosed) return Promise.reject(new ClosedError())
      if (signal.aborted) return Promise.resolve()
      subscribe()
      const { promise, waiter } = newWaiter(id, signal)
      waiters.add(waiter)
      newcomers.push(id)
      pause = FIRST_PAUSE
      alarm.ring()
      if (!isLooking) void look()
      return promise.finally(() => {
        waiters.delete(waiter)
        if (waiters.size === 0) alarm.ring()
      })
    },
    close() {
      isClosed = true
      unsubscribe?.()
      rejectAll(new ClosedError())
      alarm.ring()
    },
  }
}

function newWaiter(
  id: string,
  signal: AbortSignal,
): { readonly promise: Promise<void>; readonly waiter: Waiter } {
  let waiter: Waiter = { id, resolve: () => undefined, reject: () => undefined }
  const promise = new Promise<void>((resolve, reject) => {
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    const over = (): void => signal.removeEventListener('abort', stop)
    waiter = {
      id,
      resolve() {
        over()
        resolve()
      },
      reject(error) {
        over()
        reject(error)
      },
    }
  })
  return { promise, waiter }
}

// The next look comes anyway; what does not pass is told to all who wait.
function passes(error: unknown): boolean {
  return error instanceof DatabaseError && (error.retryable || error.sqlstate === null)
}

function arrayOf(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}
