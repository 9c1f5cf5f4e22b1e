import type { JobEvents, ToldJob } from '../core/job-events.ts'
import type { Ask } from './ask.ts'
import type { AskPieces } from './ask-pieces.ts'
import type { Enqueuer } from './enqueue.ts'
import type { EnqueueResult } from './job.ts'

/**
 * An enqueuer that tells what became of its asks: `created`, or `merged` where a job that was there
 * now stands for the ask. A repeat that changed nothing is not told. In a caller's transaction it is
 * told when it is written, and says so: nobody hears whether that is committed.
 */
export function toldAsks(enqueuer: Enqueuer, events: JobEvents): Enqueuer {
  async function one(
    ask: Ask,
    asked: Promise<EnqueueResult>,
    inTransaction: boolean,
  ): Promise<EnqueueResult> {
    // What happens to the payload meanwhile is not for this one to keep.
    const { kind, queue } = ask
    const result = await asked
    tellOf(result, { kind, queue }, { inTransaction, events })
    return result
  }

  async function many(
    pieces: AskPieces,
    write: (pieces: AskPieces) => Promise<readonly EnqueueResult[]>,
    inTransaction: boolean,
  ): Promise<readonly EnqueueResult[]> {
    const places: Place[] = []
    const results = await write(noted(pieces, places))
    const told = { inTransaction, events }
    for (const [index, result] of results.entries()) {
      const place = places[index]
      if (place !== undefined) tellOf(result, place, told)
    }
    return results
  }

  return {
    enqueue: (ask) => one(ask, enqueuer.enqueue(ask), false),
    enqueueMany: (pieces) => many(pieces, enqueuer.enqueueMany, false),
    enqueueOn: (runner, ask) => one(ask, enqueuer.enqueueOn(runner, ask), true),
    enqueueManyOn: (runner, pieces) =>
      many(pieces, (all) => enqueuer.enqueueManyOn(runner, all), true),
    starters: enqueuer.starters,
    idle: enqueuer.idle,
  }
}

type Place = Pick<ToldJob, 'kind' | 'queue'>

/** Where each ask goes, without its payload: a call may have any number. */
async function* noted(pieces: AskPieces, places: Place[]): AsyncGenerator<readonly Ask[], void> {
  let last: Place | undefined
  for await (const piece of pieces) {
    for (const { kind, queue } of piece) {
      if (last?.kind !== kind || last.queue !== queue) last = { kind, queue }
      places.push(last)
    }
    yield piece
  }
}

function tellOf(
  { id, outcome, asked }: EnqueueResult,
  { kind, queue }: Place,
  { inTransaction, events }: { readonly inTransaction: boolean; readonly events: JobEvents },
): void {
  // Literals: of a bulk each spread would cost more than all else here.
  if (outcome === 'inserted') events.tell('created', { id, kind, queue, inTransaction })
  else if (id !== asked) events.tell('merged', { id, asked, kind, queue, inTransaction })
}
