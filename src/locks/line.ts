import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import { ClosedError, DatabaseError } from '../errors.ts'
import type { TakeRow } from './lock-statements.ts'

/**
 * Those who wait for one lock in this client, in the order they came. Their places are rows that all
 * clients see; the first of them looks for all: when a release is heard, at the end of the holder's
 * time, when its own turn has come, and every two seconds to say that they are still there. Whoever
 * left, or died, is passed over by time (`take_lock`), so that nobody has to clean up for the line to
 * move.
 */
export interface Line {
  /** Waits; resolves with what was taken for it. */
  join(waiter: Waiter): void
  /** The waiter gives up; what is being taken for it meanwhile is given back. */
  leave(waiter: Waiter): void
  /** Something happened to the lock. */
  ring(): void
  /** Rejects all who wait; resolves when no look is under way. */
  close(): Promise<void>
}

export interface Waiter {
  readonly holder: string
  readonly ttlMs: number
  readonly resolve: (row: TakenRow) => void
  readonly reject: (error: unknown) => void
}

/** A look that took the lock. */
export interface TakenRow {
  readonly token: number
  readonly expires_at: number
}

export interface LineOptions {
  readonly clock: Clock
  /** One look for this waiter; all of them keep their places. */
  readonly look: (waiter: Waiter, holders: readonly string[]) => Promise<TakeRow>
  readonly giveBack: (waiter: Waiter) => Promise<unknown>
  readonly removePlaces: (holders: readonly string[]) => Promise<unknown>
  readonly errorMs: () => number
  /** Somebody has to wait: from now on hints are needed. */
  readonly onWaiting: () => void
  readonly isListening: () => boolean
  /** Takes work that nobody waits for, and whose failure is of no consequence. */
  readonly track: (work: Promise<unknown>) => void
  /** Nobody waits here any more. */
  readonly onEmpty: () => void
}

/** Whoever stands behind others may take the lock so much later for each of them, for at most eight. */
export const STEP = 500
const MOST_STEPS = 8
const HEARTBEAT = 2_000
const FIRST_BLIND = 200
const BLIND = 1_000
const AFTER_TURN = 200
const FAILED_PAUSE = 1_000

export function line(options: LineOptions): Line {
  const { clock, giveBack, removePlaces, track } = options
  const waiters: Waiter[] = []
  // Those that may have it already: the answer of a look was lost.
  const uncertain = new Set<Waiter>()
  const alarm = bell(clock)
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // One turn: those who come together are written together.
    await Promise.resolve()
    while (waiters.length > 0) {
      const [first] = waiters
      if (first === undefined) break
      const pause = await lookFor(first)
      if (pause > 0 && waiters.length > 0) await alarm.wait(pause)
    }
    running = undefined
    options.onEmpty()
  }

  /** How long to wait for the next look. */
  async function lookFor(first: Waiter): Promise<number> {
    try {
      const row = await options.look(
        first,
        waiters.map(({ holder }) => holder),
      )
      uncertain.delete(first)
      if (!isTaken(row)) return pauseAfter(row)
      if (remove(first)) first.resolve(row)
      else track(giveBack(first))
      return 0
    } catch (error) {
      noteUncertain(first, error)
      if (passes(error)) return FAILED_PAUSE
      rejectAll(error)
      return 0
    }
  }

  function noteUncertain(first: Waiter, error: unknown): void {
    if (!(error instanceof DatabaseError) || !error.outcomeUnknown) return
    if (waiters.includes(first)) uncertain.add(first)
    else track(giveBack(first))
  }

  function pauseAfter({ held_until: heldUntil, ahead }: TakeRow): number {
    options.onWaiting()
    const longest = options.isListening() ? HEARTBEAT : ahead === 0 ? FIRST_BLIND : BLIND
    const steps = Math.min(ahead, MOST_STEPS) * STEP
    const turn = (heldUntil ?? clock.now()) + Math.ceil(options.errorMs()) + steps
    const left = turn - clock.now()
    return Math.min(longest, left > 0 ? left : AFTER_TURN)
  }

  function remove(waiter: Waiter): boolean {
    const index = waiters.indexOf(waiter)
    if (index === -1) return false
    waiters.splice(index, 1)
    return true
  }

  function rejectAll(error: unknown): void {
    const all = waiters.splice(0)
    if (all.length > 0) track(removePlaces(all.map(({ holder }) => holder)))
    for (const each of all) {
      if (uncertain.has(each)) track(giveBack(each))
      each.reject(error)
    }
  }

  return {
    join(waiter) {
      waiters.push(waiter)
      if (running === undefined) running = run()
      else alarm.ring()
    },
    leave(waiter) {
      if (!remove(waiter)) return
      track(removePlaces([waiter.holder]))
      if (uncertain.has(waiter)) track(giveBack(waiter))
      alarm.ring()
    },
    ring: alarm.ring,
    async close() {
      rejectAll(new ClosedError())
      alarm.ring()
      await running
    },
  }
}

function isTaken(row: TakeRow): row is TakeRow & TakenRow {
  return row.token !== null && row.expires_at !== null
}

// The next look comes anyway; what does not pass is told to all who wait.
function passes(error: unknown): boolean {
  return error instanceof DatabaseError && (error.retryable || error.sqlstate === null)
}
