import { MOST_BYTES, MOST_ROWS } from '../database/batcher.ts'
import type { Runner } from '../database/executor.ts'
import { withSavepoint } from '../database/savepoint.ts'
import { DatabaseError } from '../errors.ts'
import { bytesOf } from './insert.ts'
import type { EnqueueResult } from './job.ts'
import { byKey, inserted } from './keyed-ask.ts'
import type { KeyedAsk } from './keyed-ask.ts'
import { placeAll } from './keyed-enqueue.ts'
import type { KeyedContext } from './keyed-enqueue.ts'

/**
 * The asks with keys of one call, in the order of their keys (M6): two calls that share keys wait for
 * each other, and not in a circle. First asks of their keys get their places together; what is left
 * meets a job and goes one by one after them, asks of one key in the order of the call.
 *
 * Places and merges take their locks in two passes, so a key that is claimed between them can still
 * close a circle: the server then ends one of the two, which goes back to its savepoint and begins
 * again.
 */
export interface Numbered {
  readonly ask: KeyedAsk
  /** Which of the call's asks it is. */
  readonly index: number
}

export interface KeyedBulkOptions {
  readonly hintUntil: () => string
  /** One ask by itself. */
  readonly keyed: (runner: Runner, ask: KeyedAsk, tries: KeyedTries) => Promise<EnqueueResult>
}

export type KeyedTries = Pick<KeyedContext, 'askedAt' | 'isUncertain' | 'isMet'>

// Each means that another call with the same keys got on.
const ATTEMPTS = 10

export interface KeyedBulk {
  /** In the transaction of `runner`; each ask's result with its number. */
  write(
    runner: Runner,
    asks: readonly Numbered[],
    tries: KeyedTries,
  ): Promise<readonly (readonly [index: number, result: EnqueueResult])[]>
}

export function keyedBulk({ hintUntil, keyed }: KeyedBulkOptions): KeyedBulk {
  async function meetAll(
    runner: Runner,
    sorted: readonly Numbered[],
    tries: KeyedTries,
  ): Promise<readonly (readonly [number, EnqueueResult])[]> {
    const placed = new Set<string>()
    const { askedAt } = tries
    for (const some of piecesOf(firstOfKeys(sorted))) {
      for (const id of await placeAll(some, runner, { hintUntil, askedAt })) placed.add(id)
    }
    const results: (readonly [number, EnqueueResult])[] = []
    for (const { ask, index } of sorted) {
      // Deleted: the same id again is a repeat of it.
      const result = placed.delete(ask.id)
        ? inserted(ask)
        : await keyed(runner, ask, { ...tries, isMet: true })
      results.push([index, result])
    }
    return results
  }

  return {
    async write(runner, asks, tries) {
      if (asks.length === 0) return []
      const sorted = asks.toSorted((a, b) => byKey(a.ask, b.ask))
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await withSavepoint(runner, () => meetAll(runner, sorted, tries))
        } catch (error) {
          if (attempt === ATTEMPTS || !isMishap(error)) throw error
        }
      }
    },
  }
}

/** The first ask of each key, where keys are placed by their index alone; an id once. Asks are sorted by key. */
function firstOfKeys(sorted: readonly Numbered[]): readonly KeyedAsk[] {
  const ids = new Set<string>()
  const first: KeyedAsk[] = []
  for (const [index, { ask }] of sorted.entries()) {
    const before = sorted[index - 1]?.ask
    const isFirst = before === undefined || byKey(before, ask) !== 0
    if (!isFirst || ids.has(ask.id) || !isPlacedByIndex(ask)) continue
    ids.add(ask.id)
    first.push(ask)
  }
  return first
}

function isPlacedByIndex({ keyed: { mode } }: KeyedAsk): boolean {
  return mode.type === 'pending' || mode.type === 'debounce'
}

/** In pieces that fit a statement each. */
function* piecesOf(asks: readonly KeyedAsk[]): Generator<readonly KeyedAsk[], void> {
  let piece: KeyedAsk[] = []
  let bytes = 0
  for (const ask of asks) {
    const size = bytesOf(ask)
    if (piece.length > 0 && (piece.length === MOST_ROWS || bytes + size > MOST_BYTES)) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(ask)
    bytes += size
  }
  if (piece.length > 0) yield piece
}

/** A deadlock with another call, or an id that was committed and claimed in this moment. */
function isMishap(error: unknown): boolean {
  return error instanceof DatabaseError && MISHAPS.has(error.sqlstate)
}

const MISHAPS: ReadonlySet<string | null> = new Set(['40P01', '23505'])
