import type { Clock } from '../core/clock.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { LockWaitError } from './lock-errors.ts'
import { line } from './line.ts'
import type { Line, TakenRow, Waiter } from './line.ts'
import type { LockWaitSettings } from './lock-options.ts'
import type { LockTable } from './lock-table.ts'

/** The lines of one client, one for each lock that it waits for, and what wakes them. */
export interface Waiting {
  /** Resolves with what was taken. Rejects with `LockWaitError`, the signal's reason, or `ClosedError`. */
  waitFor(settings: LockWaitSettings, holder: string): Promise<TakenRow>
  close(): Promise<void>
}

export interface WaitingOptions {
  readonly clock: Clock
  readonly table: LockTable
  readonly errorMs: () => number
  readonly wakeups: () => Wakeups
  /** A lock was taken from its holder by hand. */
  readonly onUnlocked: (name: string) => void
}

export function waitingLines(options: WaitingOptions): Waiting {
  const { clock, table } = options
  const lines = new Map<string, Line>()
  const background = new Set<Promise<unknown>>()
  let wakeups: Wakeups | undefined
  let unsubscribe: (() => void) | undefined

  function lineOf(name: string): Line {
    const existing = lines.get(name)
    if (existing !== undefined) return existing
    const made = line({
      clock,
      errorMs: options.errorMs,
      look: ({ holder, ttlMs }, holders) => table.take({ name, holder, ttlMs }, holders),
      giveBack: ({ holder }) => table.release([{ name, holder }]),
      removePlaces: (holders) => table.leave(name, holders),
      onWaiting: listen,
      isListening: () => wakeups?.isListening === true,
      track,
      onEmpty: () => lines.delete(name),
    })
    lines.set(name, made)
    return made
  }

  // Not before somebody has to wait: who finds every lock free needs no listening connection.
  function listen(): void {
    if (unsubscribe !== undefined) return
    wakeups = options.wakeups()
    unsubscribe = wakeups.subscribe((hint) => {
      if (hint.type === 'resync') for (const each of lines.values()) each.ring()
      if (hint.type !== 'lock' && hint.type !== 'unlock') return
      lines.get(hint.name)?.ring()
      if (hint.type === 'unlock') options.onUnlocked(hint.name)
    })
  }

  // Of no consequence where it fails: a place that nobody renews is passed over, a lock that nobody
  // renews ends.
  function track(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => background.delete(done))
    background.add(done)
  }

  return {
    waitFor({ name, ttlMs, waitMs, signal }, holder) {
      return new Promise((resolve, reject) => {
        const mine = lineOf(name)
        const waiter: Waiter = {
          holder,
          ttlMs,
          resolve(row) {
            over()
            resolve(row)
          },
          reject(error) {
            over()
            reject(error)
          },
        }
        const giveUp = (error: unknown): void => {
          mine.leave(waiter)
          waiter.reject(error)
        }
        const stop = (): void => giveUp(signal?.reason)
        const cancel =
          waitMs === null
            ? undefined
            : clock.after(waitMs, () => giveUp(new LockWaitError(name, waitMs)))
        const over = (): void => {
          cancel?.()
          signal?.removeEventListener('abort', stop)
        }
        signal?.addEventListener('abort', stop, { once: true })
        mine.join(waiter)
      })
    },
    async close() {
      unsubscribe?.()
      await Promise.all([...lines.values()].map((each) => each.close()))
      await Promise.all(background)
    },
  }
}
