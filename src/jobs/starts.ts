import { DatabaseError } from '../errors.ts'
import type { Ask } from './ask.ts'
import { askRow } from './ask-row.ts'
import { enqueueStartingJobs } from './enqueue-statements.ts'
import type { StartingRow } from './enqueue-statements.ts'
import type { Insert } from './insert.ts'

/**
 * Jobs that begin as they are written. A worker of the same client that rests, and has a slot for the
 * job, gets it with the very statement: the job goes among the leases, not into line, so that between
 * the ask and its run lie one commit and no wake-up. Whoever offers a start keeps a slot for it until
 * it is told what became of the statement.
 */
export interface Start {
  /** Who will hold the lease. */
  readonly worker: string
  /** The statement leaves: the lease is of this instant, in milliseconds since the epoch. */
  sent(instant: number): void
  /** It committed: the run begins. */
  begun(): void
  /** It failed; where its outcome is unknown the lease may be there, or still come. */
  failed(isUncertain: boolean): void
}

/** Null: nobody rests who could run it. */
export type OfferStart = (ask: Ask) => Start | null

export interface Starters {
  /** Adds one more that may start jobs; gives what removes it. */
  add(offer: OfferStart): () => void
  readonly offer: OfferStart
}

export function starters(): Starters {
  const all = new Set<OfferStart>()
  return {
    add(offer) {
      all.add(offer)
      return () => void all.delete(offer)
    },
    offer(ask) {
      for (const each of all) {
        const start = each(ask)
        if (start !== null) return start
      }
      return null
    },
  }
}

/** Writes the asks with the starts that are offered for them; undefined: none is. */
export function insertStarting(
  asks: readonly Ask[],
  offer: OfferStart,
  instant: number,
): Insert | undefined {
  const starts = startsOf(asks, offer)
  if (starts.size === 0) return undefined
  return async (runner, given) => {
    for (const start of starts.values()) start.sent(instant)
    try {
      const rows = asks.map((ask): StartingRow => ({ ...askRow(ask), ...by(starts.get(ask)) }))
      await runner.run(enqueueStartingJobs, { ...given, asks: JSON.stringify(rows) })
    } catch (error) {
      const isUncertain = error instanceof DatabaseError && error.outcomeUnknown
      for (const start of starts.values()) start.failed(isUncertain)
      throw error
    }
    for (const start of starts.values()) start.begun()
    return new Set(asks.map(({ id }) => id))
  }
}

/** The best level first, as a claim would take them. */
function startsOf(asks: readonly Ask[], offer: OfferStart): ReadonlyMap<Ask, Start> {
  const starts = new Map<Ask, Start>()
  for (const ask of asks.filter(mayStart).toSorted((a, b) => a.priority - b.priority)) {
    const start = offer(ask)
    if (start !== null) starts.set(ask, start)
  }
  return starts
}

/** Due now, and new: what may be there already is decided by the statement that looks. */
function mayStart({ hasGivenId, delayMs, at, expiresAfterMs, expiresAt }: Ask): boolean {
  return !hasGivenId && (delayMs ?? at ?? expiresAfterMs ?? expiresAt) === null
}

function by(start: Start | undefined): { readonly worker?: string } {
  return start === undefined ? {} : { worker: start.worker }
}
