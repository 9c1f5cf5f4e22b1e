import type { Session } from './database.ts'

/**
 * A network may fail without a word for all connections of a client at once, and each is known to be
 * dead only when a statement on it has waited its time. One after the other, as a claim uses them,
 * that is minutes. So where one is given up for its silence, whichever others are idle and have heard
 * nothing since that statement was sent go with it, and are made anew when they are needed. A
 * statement under way is left alone: it may wait for a lock.
 *
 * What was before what is counted, not timed: a clock may be set in between.
 */
export interface Silence {
  /** Where a lane has connected, also again. */
  connected(hearing: Hearing, session: Heard): void
  /** Sends something on the session of one lane, and hears how it ends. */
  heard<T>(hearing: Hearing, send: () => Promise<T>): Promise<T>
}

type Heard = Pick<Session, 'wentSilent' | 'giveUp'>

/** One lane as silence sees it. */
export interface Hearing {
  /** Null before its first. */
  session: Heard | null
  underWay: number
  /** The count when an answer last came. */
  heardAt: number
}

export function silence(): Silence {
  const known = new Set<Hearing>()
  let count = 0

  function suspect(sentAt: number): void {
    for (const { session, underWay, heardAt } of known) {
      if (underWay === 0 && heardAt < sentAt) session?.giveUp()
    }
  }

  return {
    connected(hearing, session) {
      known.add(hearing)
      hearing.session = session
      hearing.heardAt = ++count
    },
    async heard(hearing, send) {
      hearing.underWay += 1
      const sentAt = ++count
      try {
        const answer = await send()
        hearing.heardAt = ++count
        return answer
      } catch (error) {
        if (hearing.session?.wentSilent === true) suspect(sentAt)
        throw error
      } finally {
        hearing.underWay -= 1
      }
    },
  }
}
