import { instantText } from '../core/instant-text.ts'
import { MOST_BYTES, MOST_ROWS } from '../database/batcher.ts'
import type { Executor, Lane, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { withSavepoint } from '../database/savepoint.ts'
import { DatabaseError } from '../errors.ts'
import type { Ask } from './ask.ts'
import { tookEffect } from './asked-earlier.ts'
import { enqueuedJobs } from './enqueue-statements.ts'
import { answers, bytesOf, insertFor, passesForKeys, untilOutlasted } from './insert.ts'
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
  own(asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]>
  on(runner: Runner, asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]>
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

  async function own(asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]> {
    const read = chunksOf(asks)
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
    const first = await chunks.next()
    if (first.done === true) return []
    const second = await chunks.next()
    const many = executor.lane('enqueue many')
    await repeat({ clock, until: untilOutlasted(clock) }, () => many.ready())
    const askedAt = instantText(clock.now())
    if (second.done !== true) {
      const all = oneAhead(resumed([first.value, second.value], chunks))
      return attempt(many, all, { askedAt, isUncertain: false })
    }
    if (!first.value.some(isKeyed)) return options.plain(first.value)
    return repeat({ clock, until: untilOutlasted(clock), passes: passesForKeys }, (isUncertain) =>
      attempt(many, resumed([first.value], chunks), { askedAt, isUncertain }),
    )
  }

  /** A commit whose answer was lost is looked up: what became of one ask tells of all (M8). */
  async function attempt(
    many: Lane,
    chunks: AsyncIterable<readonly Ask[]>,
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
    chunks: AsyncIterable<readonly Ask[]>,
    tries: KeyedTries,
  ): Promise<readonly EnqueueResult[]> {
    const results: EnqueueResult[] = []
    const keyed: Numbered[] = []
    let index = 0
    for await (const chunk of chunks) {
      const plain: Ask[] = []
      const places: number[] = []
      for (const ask of chunk) {
        if (isKeyed(ask)) keyed.push({ ask, index })
        else places[plain.push(ask) - 1] = index
        index += 1
      }
      const written = await writePlain(runner, plain, tries)
      for (const [at, place] of places.entries()) put(results, place, written[at])
    }
    for (const [at, result] of await bulk.write(runner, keyed, tries)) put(results, at, result)
    return results
  }

  async function writePlain(
    runner: Runner,
    asks: readonly Ask[],
    { askedAt: now, isUncertain }: KeyedTries,
  ): Promise<readonly EnqueueResult[]> {
    if (asks.length === 0) return []
    const insert = insertFor(asks, isUncertain)
    const inserted = new Set(await insert(runner, asks, { hint_until: hintUntil(), now }))
    if (isUncertain) {
      const ids = `{${asks.map((ask) => ask.id).join(',')}}`
      for (const { id } of await runner.run(enqueuedJobs, { ids, asked_at: now })) inserted.add(id)
    }
    return answers(asks, inserted)
  }

  return {
    own,
    on: (runner, asks) =>
      withSavepoint(runner, () =>
        write(runner, chunksOf(asks), { askedAt: instantText(clock.now()), isUncertain: false }),
      ),
  }
}

/** Asks in pieces that fit a statement each, read as they are needed. */
async function* chunksOf(asks: AsyncIterable<Ask>): Chunks {
  let chunk: Ask[] = []
  let bytes = 0
  for await (const ask of asks) {
    const size = bytesOf(ask)
    if (chunk.length > 0 && (chunk.length === MOST_ROWS || bytes + size > MOST_BYTES)) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(ask)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}

type Chunks = AsyncGenerator<readonly Ask[], void>

async function* readAhead(chunks: Chunks): Chunks {
  const all: (readonly Ask[])[] = []
  for await (const chunk of chunks) all.push(chunk)
  yield* all
}

function put(results: EnqueueResult[], place: number, result: EnqueueResult | undefined): void {
  if (result !== undefined) results[place] = result
}

/** The next is read while the last is written: inputs are checked while the server works. */
async function* oneAhead<T>(items: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  let next = items.next()
  for (;;) {
    const item = await next
    if (item.done === true) return
    next = items.next()
    // Heard when it is asked for; until then a refused input is nobody's unhandled rejection.
    next.catch(() => undefined)
    yield item.value
  }
}

async function* resumed<T>(ahead: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* ahead
  yield* rest
}
