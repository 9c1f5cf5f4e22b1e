import { instantText } from '../core/instant-text.ts'
import { batcher, MOST_BYTES, MOST_ROWS } from '../database/batcher.ts'
import type { Batcher } from '../database/batcher.ts'
import type { Executor, Lane, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { DatabaseError } from '../errors.ts'
import type { Ask } from './ask.ts'
import type { EnqueueResult } from './job.ts'
import { enqueuedJobs, enqueueJobs } from './enqueue-statements.ts'
import type { AskRow, EnqueueParams } from './enqueue-statements.ts'

/**
 * Writes asks. Alone, calls that come while a statement is in flight go together in the next one; a
 * lost answer is looked up before the statement is repeated, so that an ask takes effect once and is
 * answered truly (E2, M8). In a caller's transaction each call is one statement on it, and nothing
 * is repeated: his commit decides.
 */
export interface Enqueuer {
  /**
   * One ask, in whatever batch leaves next. An id that the caller gave may also be in a transaction
   * that is still open, and then the statement waits for its end: asks with such ids go apart, so
   * that nobody else waits with them.
   */
  enqueue(ask: Ask, hasGivenId: boolean): Promise<EnqueueResult>
  /** Any number of asks, all or nothing. */
  enqueueMany(asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]>
  /** Resolves when everything asked so far is answered. */
  idle(): Promise<void>
}

export interface EnqueuerOptions {
  readonly executor: Executor
  readonly hintUntil: () => string
}

/** For how long an enqueue outlasts a database that is away. */
export const OUTLAST = 10_000

export function enqueuer(options: EnqueuerOptions): Enqueuer {
  const { executor, hintUntil } = options
  const { clock } = executor
  const many = executor.lane('enqueue many')

  async function flush(asks: readonly Ask[], lane: Lane): Promise<readonly EnqueueResult[]> {
    const until = untilOutlasted()
    await repeat({ clock, until }, () => lane.ready())
    const asked_at = instantText(clock.now())
    const inserted = new Set<string>()
    let left = asks

    function record(rows: readonly { readonly id: string }[]): void {
      for (const { id } of rows) inserted.add(id)
      left = left.filter((ask) => !inserted.has(ask.id))
    }

    async function lookUp(): Promise<void> {
      const ids = arrayOf(left.map((ask) => ask.id))
      record(await lane.run(enqueuedJobs, { ids, asked_at }))
    }

    await repeat({ clock, until }, async (isUncertain) => {
      if (isUncertain) await lookUp()
      if (left.length === 0) return
      const given = { asks: rowsText(left), hint_until: hintUntil(), now: asked_at }
      record(await lane.run(enqueueJobs, given))
      // An earlier try that was still under way at the first look has ended: this one waited for it.
      if (isUncertain && left.length > 0) await lookUp()
    })
    return answers(asks, inserted)
  }

  function untilOutlasted(): () => number {
    const end = clock.now() + OUTLAST
    return () => end
  }

  function batchesOn(lane: Lane): Batcher<Ask, EnqueueResult> {
    return batcher({ flush: (asks) => flush(asks, lane), bytes: bytesOf })
  }

  const batches = batchesOn(executor.lane('enqueue'))
  const apart = batchesOn(executor.lane('enqueue by id'))

  async function enqueueMany(asks: AsyncIterable<Ask>): Promise<readonly EnqueueResult[]> {
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
    if (second.done === true) return flush(first.value, many)
    await repeat({ clock, until: untilOutlasted() }, () => many.ready())
    const asked_at = instantText(clock.now())
    const results: EnqueueResult[] = []
    const add = async (runner: Runner, chunk: readonly Ask[]): Promise<void> => {
      results.push(...(await insert(runner, chunk, { hint_until: hintUntil(), now: asked_at })))
    }
    try {
      await many.transaction(async (runner) => {
        await add(runner, first.value)
        await add(runner, second.value)
        for await (const chunk of chunks) await add(runner, chunk)
      })
    } catch (error) {
      if (!isUncertain(error) || !(await tookEffect(results, asked_at))) throw error
    }
    return results
  }

  /** The answer to a commit was lost: one job of it tells for all (M8). */
  async function tookEffect(results: readonly EnqueueResult[], asked_at: string): Promise<boolean> {
    const inserted = results.find(({ outcome }) => outcome === 'inserted')
    if (inserted === undefined) return false
    return repeat({ clock, until: untilOutlasted() }, async () => {
      const found = await many.run(enqueuedJobs, { ids: arrayOf([inserted.id]), asked_at })
      return found.length > 0
    })
  }

  return {
    enqueue: (ask, hasGivenId) => (hasGivenId ? apart : batches).add(ask),
    enqueueMany,
    async idle() {
      await Promise.all([batches.idle(), apart.idle()])
    },
  }
}

type Chunks = AsyncGenerator<readonly Ask[], void>

async function* readAhead(chunks: Chunks): Chunks {
  const all: (readonly Ask[])[] = []
  for await (const chunk of chunks) all.push(chunk)
  yield* all
}

/** One statement for all of them; each answered in its place. */
export async function insert(
  runner: Runner,
  asks: readonly Ask[],
  given: Omit<EnqueueParams, 'asks'>,
): Promise<readonly EnqueueResult[]> {
  const rows = await runner.run(enqueueJobs, { ...given, asks: rowsText(asks) })
  return answers(asks, new Set(rows.map(({ id }) => id)))
}

/** Asks in pieces that fit a statement each, read as they are needed. */
export async function* chunksOf(asks: AsyncIterable<Ask>): Chunks {
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

/** The same id twice in one statement: the first of the two asks is the one that was inserted. */
function answers(asks: readonly Ask[], inserted: ReadonlySet<string>): readonly EnqueueResult[] {
  const answered = new Set<string>()
  return asks.map(({ id }): EnqueueResult => {
    const isNew = inserted.has(id) && !answered.has(id)
    answered.add(id)
    return { id, outcome: isNew ? 'inserted' : 'kept', asked: id }
  })
}

function rowsText(asks: readonly Ask[]): string {
  return JSON.stringify(asks.map(rowOf))
}

function rowOf(ask: Ask): AskRow {
  return {
    id: ask.id,
    kind: ask.kind,
    queue: ask.queue,
    payload: ask.payload,
    priority: ask.priority,
    lease_ms: ask.leaseMs,
    ...(ask.policyText === null ? {} : { options: ask.policyText }),
    ...(ask.delayMs === null ? {} : { delay_ms: ask.delayMs }),
    ...(ask.at === null ? {} : { due_at: instantText(ask.at) }),
    ...(ask.expiresAfterMs === null ? {} : { expires_after_ms: ask.expiresAfterMs }),
    ...(ask.expiresAt === null ? {} : { expires_at: instantText(ask.expiresAt) }),
  }
}

// The payload dominates; names, the id and the rest of a row are about 200 bytes.
function bytesOf(ask: Ask): number {
  return ask.payload.length + 200
}

/** Ids as an array literal; they hold nothing that would need quotes. */
function arrayOf(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}

function isUncertain(error: unknown): boolean {
  return error instanceof DatabaseError && error.outcomeUnknown
}
