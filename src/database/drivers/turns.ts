import { setImmediate } from 'node:timers/promises'

/** Runs `work` when nothing else holds the connection, in the order of the calls. */
export type TakeTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Turns on a connection that only we use. */
export function turns(): TakeTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}

/**
 * Turns on a database in this process, which answers in microtasks alone: a loop of awaits on it
 * would keep the event loop from timers and sockets for as long as it goes on, and leases would end
 * unrenewed. So after every few turns the loop gets one of its own.
 */
export function breathingTurns(enter: TakeTurn): TakeTurn {
  let taken = 0
  return async (work) => {
    const result = await enter(work)
    taken += 1
    if (taken % BREATHE_EVERY === 0) await setImmediate()
    return result
  }
}

// A statement takes about a millisecond there.
const BREATHE_EVERY = 8

/**
 * Turns on a connection that somebody may hold for ever: an application that awaits us inside its
 * own transaction waits for a turn which comes only after that transaction. So whoever has waited
 * `limitMs`, while no turn of ours began or ended, is sent away with what `late` answers, and its
 * work never runs, not even when the connection becomes free later.
 *
 * A long queue alone sends nobody away: every turn that ends shows that the connection moves.
 */
export function patientTurns(enter: TakeTurn, limitMs: number, late: () => Error): TakeTurn {
  let moves = 0

  async function perform<T>(waiter: Waiter, work: () => Promise<T>): Promise<T> {
    clearTimeout(waiter.timer)
    if (waiter.isGone) throw late()
    moves += 1
    try {
      return await work()
    } finally {
      moves += 1
    }
  }

  function watch(waiter: Waiter, sendAway: (error: Error) => void): void {
    const seen = moves
    waiter.timer = setTimeout(() => {
      if (moves !== seen) return watch(waiter, sendAway)
      waiter.isGone = true
      sendAway(late())
    }, limitMs)
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const waiter: Waiter = { isGone: false, timer: undefined }
      watch(waiter, reject)
      enter(() => perform(waiter, work))
        .finally(() => clearTimeout(waiter.timer))
        .then(resolve, reject)
    })
}

interface Waiter {
  isGone: boolean
  timer: NodeJS.Timeout | undefined
}
