import type { Session } from './database.ts'

/**
 * A network may fail without a word for all connections of a client at once, and each is known to be
 * dead only when a statement on it has waited its time. One after the other, as a claim uses them,
 * that is minutes. So where one is given up for its silence, whichever others are idle and have heard
 * nothing since that statement was sent go with it, and are made anew when they are needed. A
 * statement under way is left alone: it may wait for a lock.
 */
export interface Silence {
  /** Sends something on the session of one lane, and hears how it ends. */
  heard<T>(hearing: Hearing, send: () => Promise<T>): Promise<T>
}

/** One lane as silence sees it. */
export interface Hearing {
  /** Null before its first. */
  session: Session | null
  underWay: number
  heardAt: number
  /** How long one statement may go without an answer, in milliseconds. */
  readonly patienceMs: number
}

export function silence(now: () => number): Silence {
  const known = new Set<Hearing>()

  function suspect(sentAt: number): void {
    for (const { session, underWay, heardAt } of known) {
      if (underWay === 0 && heardAt < sentAt) session?.giveUp()
    }
  }

  return {
    async heard(hearing, send) {
      known.add(hearing)
      hearing.underWay += 1
      const sentAt = now()
      try {
        const answer = await send()
        hearing.heardAt = now()
        return answer
      } catch (error) {
        const isSilent = hearing.session?.isLost === true && now() - sentAt >= hearing.patienceMs
        if (isSilent) suspect(sentAt)
        throw error
      } finally {
        hearing.underWay -= 1
      }
    },
  }
}
