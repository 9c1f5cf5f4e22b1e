import { instantText } from '../core/instant-text.ts'
import { batcher } from '../database/batcher.ts'
import type { Batcher } from '../database/batcher.ts'
import type { Executor, Lane, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import type { Ask } from './ask.ts'
import type { AskPieces } from './ask-pieces.ts'
import { bulkEnqueue } from './bulk-enqueue.ts'
import { enqueuedJobs } from './enqueue-statements.ts'
import { answers, bytesOf, insertFor, passesForKeys, untilOutlasted } from './insert.ts'
import type { EnqueueResult, JournalEntry } from './job.ts'
import { isKeyed } from './keyed-ask.ts'
import type { KeyedAsk } from './keyed-ask.ts'
import { enqueueKeyed } from './keyed-enqueue.ts'
import type { KeyedContext } from './keyed-enqueue.ts'
import { keyedLanes } from './keyed-lanes.ts'
import { insertStarting, starters } from './starts.ts'
import type { OfferStart, Starters } from './starts.ts'
import { toldAsks } from './told-asks.ts'

/**
 * Writes asks. Alone, calls that come while a statement is in flight go together in the next one; a
 * lost answer is looked up before the statement is repeated, so that an ask takes effect once and is
 * answered truly (E2, M8). Asks with a key go by themselves, since each may have to look and decide. In
 * a caller's transaction each call is written on it, and nothing is repeated: his commit decides.
 */
export interface Enqueuer {
  /**
   * One ask, in whatever batch leaves next. An id that the caller gave may also be in a transaction
   * that is still open, and then the statement waits for its end: asks with such ids go apart, so
   * that nobody else waits with them.
   */
  enqueue(ask: Ask): Promise<EnqueueResult>
  /** Any number of asks, all or nothing. */
  enqueueMany(pieces: AskPieces): Promise<readonly EnqueueResult[]>
  /** The same on the caller's transaction. */
  enqueueOn(runner: Runner, ask: Ask): Promise<EnqueueResult>
  enqueueManyOn(runner: Runner, pieces: AskPieces): Promise<readonly EnqueueResult[]>
  /** Who may start what is asked one by one, as it is written. */
  readonly starters: Starters
  /** Resolves when everything asked so far is answered. */
  idle(): Promise<void>
}

export interface EnqueuerOptions {
  readonly executor: Executor
  readonly maxPayload: number
  readonly hintUntil: () => string
  /** A job's journal, for merge functions. */
  readonly journal: (runner: Runner, id: string) => Promise<readonly JournalEntry[]>
}

const NOBODY: OfferStart = () => null

export function enqueuer(options: EnqueuerOptions): Enqueuer {
  const { executor, hintUntil } = options
  const { clock } = executor
  const many = executor.lane('enqueue many')
  const lanes = keyedLanes(executor)
  const bulk = bulkEnqueue({ ...options, plain: (asks) => flush(asks, many), keyed })
  const starting = starters()
  const batches = batchesOn(executor.lane('enqueue'), starting.offer)
  const apart = batchesOn(executor.lane('enqueue by id'))
  const asked = new Set<Promise<unknown>>()

  function batchesOn(lane: Lane, offer?: OfferStart): Batcher<Ask, EnqueueResult> {
    return batcher({ flush: (asks) => flush(asks, lane, offer), bytes: bytesOf })
  }

  async function flush(
    asks: readonly Ask[],
    lane: Lane,
    offer: OfferStart = NOBODY,
  ): Promise<readonly EnqueueResult[]> {
    const until = untilOutlasted(clock)
    await repeat({ clock, until }, () => lane.ready())
    const now = clock.now()
    const askedAt = instantText(now)
    let atOnce = insertStarting(asks, offer, now)
    const inserted = new Set<string>()
    let left = asks

    function record(ids: Iterable<string>): void {
      for (const id of ids) inserted.add(id)
      left = left.filter((ask) => !inserted.has(ask.id))
    }

    async function lookUp(): Promise<void> {
      const ids = `{${left.map((ask) => ask.id).join(',')}}`
      const found = await lane.run(enqueuedJobs, { ids, asked_at: askedAt })
      record(found.map(({ id }) => id))
    }

    await repeat({ clock, until }, async (isUncertain) => {
      if (isUncertain) await lookUp()
      if (left.length === 0) return
      const insert = atOnce ?? insertFor(left, isUncertain)
      atOnce = undefined
      record(await insert(lane, { hint_until: hintUntil(), now: askedAt }))
      // An earlier try that was still under way at the first look has ended: this one waited for it.
      if (isUncertain && left.length > 0) await lookUp()
    })
    return answers(asks, inserted)
  }

  function enqueueOneKeyed(ask: KeyedAsk): Promise<EnqueueResult> {
    const askedAt = instantText(clock.now())
    const until = untilOutlasted(clock)
    return lanes.run(ask, (own) =>
      repeat({ clock, until, passes: passesForKeys }, (isUncertain) => {
        const work = (runner: Runner): Promise<EnqueueResult> =>
          keyed(runner, ask, { askedAt, isUncertain })
        // Only a lock on the key needs a transaction; all else is one statement at a time.
        return ask.keyed.mode.type === 'live' ? own.transaction(work) : work(own)
      }),
    )
  }

  function keyed(
    runner: Runner,
    ask: KeyedAsk,
    tries: Pick<KeyedContext, 'askedAt' | 'isUncertain' | 'isMet'>,
  ): Promise<EnqueueResult> {
    return enqueueKeyed(ask, runner, {
      maxPayload: options.maxPayload,
      hintUntil,
      journal: (id) => options.journal(runner, id),
      ...tries,
    })
  }

  function track<T>(work: Promise<T>): Promise<T> {
    asked.add(work)
    void Promise.allSettled([work]).then(() => asked.delete(work))
    return work
  }

  const written: Enqueuer = {
    enqueue(ask) {
      if (isKeyed(ask)) return track(enqueueOneKeyed(ask))
      return (ask.hasGivenId ? apart : batches).add(ask)
    },
    enqueueMany: (pieces) => track(bulk.own(pieces)),
    async enqueueOn(runner, ask) {
      const askedAt = instantText(clock.now())
      if (isKeyed(ask)) return keyed(runner, ask, { askedAt, isUncertain: false })
      const insert = insertFor([ask], false)
      const inserted = await insert(runner, { hint_until: hintUntil() })
      return { id: ask.id, outcome: inserted.has(ask.id) ? 'inserted' : 'kept', asked: ask.id }
    },
    enqueueManyOn: bulk.on,
    starters: starting,
    async idle() {
      await Promise.allSettled([batches.idle(), apart.idle(), ...asked])
    },
  }
  return toldAsks(written, executor.events)
}
