import { instantText } from '../core/instant-text.ts'
import type { Executor, Lane, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { withSavepoint } from '../database/savepoint.ts'
import { DatabaseError } from '../errors.ts'
import type { Ask } from './ask.ts'
import type { AskPieces } from './ask-pieces.ts'
import { tookEffect } from './asked-earlier.ts'
import { chunksOf, oneAhead, readAhead, resumed } from './chunks.ts'
import type { Chunk, Chunks } from './chunks.ts'
import { enqueuedJobs } from './enqueue-statements.ts'
import { answers, insertFor, passesForKeys, untilOutlasted } from './insert.ts'
import type { Insert } from './insert.ts'
import type { EnqueueResult } from './job.ts'
import { isKeyed } from './keyed-ask.ts'
import { keyedBulk } from './keyed-bulk.ts'
import type { KeyedBulkOptions, KeyedTries, Numbered } from './keyed-bulk.ts'

/**
 * Any number of asks, all or nothing, in statements that each fit. Asks without a key are written as
 * they are read; those with a key wait for the end of the call, since they go in the order of their
 * keys. A call that fits one statement is repeated where the database is away for a moment; what was
 * read from a longer one is gone, and its caller is told.
 */
export interface BulkEnqueue {
  own(pieces: AskPieces): Promise<readonly EnqueueResult[]>
  on(runner: Runner, pieces: AskPieces): Promise<readonly EnqueueResult[]>
}

export interface BulkOptions extends KeyedBulkOptions {
  readonly executor: Executor
  /** One statement's worth without keys, on the client's own connection, repeated where it must be. */
  readonly plain: (asks: readonly Ask[]) => Promise<readonly EnqueueResult[]>
}

export function bulkEnqueue(options: BulkOptions): BulkEnqueue {
  const { executor, hintUntil } = options
  const { clock } = executor
  const bulk = keyedBulk(options)

  async function own(pieces: AskPieces): Promise<readonly EnqueueResult[]> {
    const read = chunksOf(pieces)
    // Where there is only one connection a transaction would keep out what the inputs come from.
    const chunks = executor.engine.isSingleConnection ? readAhead(read) : read
    try {
      return await writeAll(chunks)
    } catch (error) {
      // The source closes by itself: it may be read ahead just now, and wait for who knows what.
      chunks.return().catch(() => undefined)
      throw error
    }
  }

  async function writeAll(chunks: Chunks): Promise<readonly EnqueueResult[]> {
    const read = await chunks.next()
    if (read.done === true) return []
    const first = read.value
    const many = executor.lane('enqueue many')
    await repeat({ clock, until: untilOutlasted(clock) }, () => many.ready())
    const askedAt = instantText(clock.now())
    if (!first.isLast) {
      const all = oneAhead(prepared(resumed(first, chunks)))
      return attempt(many, all, { askedAt, isUncertain: false })
    }
    if (!first.asks.some(isKeyed)) return options.plain(first.asks)
    return repeat({ clock, until: untilOutlasted(clock), passes: passesForKeys }, (isUncertain) =>
      attempt(many, prepared(resumed(first, chunks)), { askedAt, isUncertain }),
    )
  }

  /** A commit whose answer was lost is looked up: what became of one ask tells of all (M8). */
  async function attempt(
    many: Lane,
    chunks: AsyncIterable<PreparedChunk>,
    tries: KeyedTries,
  ): Promise<readonly EnqueueResult[]> {
    let results: readonly EnqueueResult[] = []
    try {
      await many.transaction(async (runner) => {
        results = await write(runner, chunks, tries)
      })
    } catch (error) {
      const isOpen = error instanceof DatabaseError && error.outcomeUnknown && results.length > 0
      if (!isOpen) throw error
      const found = await repeat({ clock, until: untilOutlasted(clock) }, () =>
        tookEffect(many, results, tries.askedAt),
      )
      if (!found) throw error
    }
    return results
  }

  async function write(
    runner: Runner,
    chunks: AsyncIterable<PreparedChunk>,
    tries: KeyedTries,
  ): Promise<readonly EnqueueResult[]> {
    const results: EnqueueResult[] = []
    const keyed: Numbered[] = []
    let index = 0
    for await (const chunk of chunks) {
      const places: number[] = []
      for (const ask of chunk.asks) {
        if (isKeyed(ask)) keyed.push({ ask, index })
        else places.push(index)
        index += 1
      }
      const written = await writePlain(runner, chunk, tries)
      for (const [at, place] of places.entries()) put(results, place, written[at])
    }
    for (const [at, result] of await bulk.write(runner, keyed, tries)) put(results, at, result)
    return results
  }

  async function writePlain(
    runner: Runner,
    { plain: asks, insert: insertOnce }: PreparedChunk,
    { askedAt: now, isUncertain }: KeyedTries,
  ): Promise<readonly EnqueueResult[]> {
    if (asks.length === 0) return []
    const insert = isUncertain ? insertFor(asks, true) : insertOnce
    const inserted = new Set(await insert(runner, { hint_until: hintUntil(), now }))
    if (isUncertain) {
      const ids = `{${asks.map((ask) => ask.id).join(',')}}`
      for (const { id } of await runner.run(enqueuedJobs, { ids, asked_at: now })) inserted.add(id)
    }
    return answers(asks, inserted)
  }

  return {
    own,
    on: (runner, pieces) =>
      withSavepoint(runner, () =>
        write(runner, prepared(chunksOf(pieces)), {
          askedAt: instantText(clock.now()),
          isUncertain: false,
        }),
      ),
  }
}

/** A chunk, and the statement that writes those of its asks that have no key for the first time. */
interface PreparedChunk extends Chunk {
  readonly plain: readonly Ask[]
  readonly insert: Insert
}

async function* prepared(chunks: AsyncIterable<Chunk>): AsyncGenerator<PreparedChunk, void> {
  for await (const chunk of chunks) {
    const plain = chunk.asks.filter((ask) => !isKeyed(ask))
    yield { ...chunk, plain, insert: insertFor(plain, false) }
  }
}

function put(results: EnqueueResult[], place: number, result: EnqueueResult | undefined): void {
  if (result !== undefined) results[place] = result
}
