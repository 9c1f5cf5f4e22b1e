import type { Mill } from '../../index.ts'
import { ACTIVITIES } from './activities.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'
import { ADD_TO_TOTALS } from './tables.ts'

/**
 * Follows the stream and keeps sums by event in a table of the application. To add is not repeatable:
 * the sums are right only because a batch and the consumer's offset are one transaction, so that no
 * event is added twice and none is left out, whatever dies when.
 */
export interface Projection extends AsyncDisposable {
  /** Rejects when it fails; resolves once it is disposed. */
  readonly ended: Promise<void>
}

export const CONSUMER = 'totals'

export function startProjection({
  mill,
  place,
}: {
  readonly mill: Mill
  readonly place: Place
}): Projection {
  const text = placed(ADD_TO_TOTALS, place)
  const enough = new AbortController()
  const options = { as: CONSUMER, signal: enough.signal }
  const ended = mill.consume(ACTIVITIES, options, async (events, tx) => {
    for (const { data } of events) {
      await tx.query(text, [data.event, data.commits, data.comments])
    }
  })
  return {
    ended,
    async [Symbol.asyncDispose]() {
      enough.abort()
      // Whoever waits for `ended` is told of its failure; here it is only over.
      await ended.catch(() => undefined)
    },
  }
}
