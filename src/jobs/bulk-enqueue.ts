import { instantText } from '../core/instant-text.ts'
import { MOST_BYTES, MOST_ROWS } from '../database/batcher.ts'
import type { Executor, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { withSavepoint } from '../database/savepoint.ts'
import { DatabaseError } from '../errors.ts'
import type { Ask } from './ask.ts'
import { enqueuedJobs } from './enqueue-statements.ts'
import { answers, bytesOf, insertRows, untilOutlasted } from './insert.ts'
import type { EnqueueResult } from './job.ts'
import { byKey, isKeyed } from './keyed-ask.ts'
import type { KeyedAsk } from './keyed-ask.ts'
import { placeAll } from './keyed-enqueue.ts'

/**
 * Any number of asks, all or nothing, in statements that each fit. Asks without a key are written as
 * they are read. Asks with a key wait for the end of the call and go in the order of their keys (M6:
 * two calls that share keys then wait for each other, and never in a circle), those of one key in
 * the order of the call.
 */
export interface BulkEnqueue {
  own(asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]>
  on(runner: Runner, asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]>
}

export interface BulkOptions {
  readonly executor: Executor
  readonly hintUntil: () => string
  /** One statement's worth without keys, on the client's own connection, repeated where it must be. */
  readonly plain: (asks: readonly Ask[]) => Promise<readonly EnqueueResult[]>
  readonly keyed: (
    runner: Runner,
    ask: KeyedAsk,
    tries: { readonly askedAt: string; readonly isUncertain: boolean },
  ) => Promise<EnqueueResult>
}

// Keyed payloads are at most 256 kB by default; this many of them stay well within a statement.
const PLACED_AT_ONCE = 500

interface Placed {
  readonly ask: KeyedAsk
  readonly result: EnqueueResult | null
}

export function bulkEnqueue(options: BulkOptions): BulkEnqueue {
  const { executor, hintUntil } = options
  const { clock } = executor

  async function own(asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]> {
    const read = chunksOf(asks)
    // Where there is only one connection a transaction would keep out what the inputs come from.
    const chunks = executor.engine.isSingleConnection ? readAhead(read) : read
    try {
      return await writeAll(chunks)
    } finally {
      await chunks.return()
    }
  }

  async function writeAll(chunks: Chunks): Promise<readonly EnqueueResult[]> {
    const first = await chunks.next()
    if (first.done === true) return []
    const second = await chunks.next()
    if (second.done === true && !first.value.some(isKeyed)) return options.plain(first.value)
    const many = executor.lane('enqueue many')
    const askedAt = instantText(clock.now())
    const ahead = second.done === true ? [first.value] : [first.value, second.value]
    let results: readonly EnqueueResult[] = []
    try {
      await many.transaction(async (runner) => {
        results = await write(runner, resumed(ahead, chunks), askedAt)
      })
    } catch (error) {
      if (!isUncertain(error) || !(await tookEffect(many, results, askedAt))) throw error
    }
    return results
  }

  async function write(
    runner: Runner,
    chunks: AsyncIterable<readonly Ask[]>,
    askedAt: string,
  ): Promise<readonly EnqueueResult[]> {
    const results = new Map<number, EnqueueResult>()
    const keyed: { readonly ask: KeyedAsk; readonly index: number }[] = []
    let index = 0
    for await (const chunk of chunks) {
      const plain: { readonly ask: Ask; readonly index: number }[] = []
      for (const ask of chunk) {
        if (isKeyed(ask)) keyed.push({ ask, index })
        else plain.push({ ask, index })
        index += 1
      }
      const inserted = await writePlain(
        runner,
        plain.map(({ ask }) => ask),
        askedAt,
      )
      for (const [at, result] of inserted.entries()) results.set(plain[at]?.index ?? -1, result)
    }
    for (const { ask, index: at, result } of await writeKeyed(runner, keyed, askedAt)) {
      results.set(at, result ?? (await options.keyed(runner, ask, { askedAt, isUncertain: false })))
    }
    return [...results].toSorted(([a], [b]) => a - b).map(([, result]) => result)
  }

  /** First asks of their keys get their places together; what is left meets a job, and goes one by one after them. */
  async function writeKeyed(
    runner: Runner,
    asks: readonly { readonly ask: KeyedAsk; readonly index: number }[],
    askedAt: string,
  ): Promise<readonly (Placed & { readonly index: number })[]> {
    const sorted = asks.toSorted((a, b) => byKey(a.ask, b.ask))
    const first = firstOfKeys(sorted.map(({ ask }) => ask))
    const placed = new Set<string>()
    for (let start = 0; start < first.length; start += PLACED_AT_ONCE) {
      const some = first.slice(start, start + PLACED_AT_ONCE)
      for (const id of await placeAll(some, runner, { hintUntil, askedAt })) placed.add(id)
    }
    return sorted.map(({ ask, index }) => ({
      ask,
      index,
      result: placed.delete(ask.id) ? { id: ask.id, outcome: 'inserted', asked: ask.id } : null,
    }))
  }

  async function writePlain(
    runner: Runner,
    asks: readonly Ask[],
    now: string,
  ): Promise<readonly EnqueueResult[]> {
    if (asks.length === 0) return []
    return answers(asks, await insertRows(runner, asks, { hint_until: hintUntil(), now }))
  }

  /** The answer to the commit was lost: one job of it tells for all (M8). */
  async function tookEffect(
    many: Runner,
    results: readonly EnqueueResult[],
    askedAt: string,
  ): Promise<boolean> {
    const inserted = results.find(({ outcome }) => outcome === 'inserted')
    if (inserted === undefined) return false
    return repeat({ clock, until: untilOutlasted(clock) }, async () => {
      const params = { ids: `{${inserted.id}}`, asked_at: askedAt }
      return (await many.run(enqueuedJobs, params)).length > 0
    })
  }

  return {
    own,
    on: (runner, asks) =>
      withSavepoint(runner, () => write(runner, chunksOf(asks), instantText(clock.now()))),
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

async function* resumed<T>(ahead: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* ahead
  yield* rest
}

/** The first ask of each key, where keys are placed by their index alone. Asks are sorted by key. */
function firstOfKeys(sorted: readonly KeyedAsk[]): readonly KeyedAsk[] {
  return sorted.filter((ask, index) => {
    const before = sorted[index - 1]
    const isFirst = before === undefined || byKey(before, ask) !== 0
    return isFirst && (ask.keyed.mode.type === 'pending' || ask.keyed.mode.type === 'debounce')
  })
}

function isUncertain(error: unknown): boolean {
  return error instanceof DatabaseError && error.outcomeUnknown
}
