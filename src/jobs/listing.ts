import { InvalidOptionError } from '../errors.ts'
import type { Cursor, Listing, Page } from './job.ts'

/**
 * Keyset listings: a page ends with a cursor that says after which key the next one begins, so that
 * no row is missed or repeated however many are added or removed meanwhile.
 */
export interface PageQuery {
  /** The last key of the page before; null at the beginning. */
  readonly after: string | null
  readonly limit: number
}

export interface KeyedPage<T> {
  readonly items: readonly T[]
  /** The key to go on after; null at the end. */
  readonly last: string | null
}

export interface ListingOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Checks a key that came in through a cursor. */
  readonly isKey: (key: string) => boolean
}

export const PAGE = 100
const LARGEST_PAGE = 10_000

export function listing<T>(
  options: ListingOptions,
  read: (query: PageQuery) => Promise<KeyedPage<T>>,
): Listing<T> {
  const limit = limitOf(options.limit)
  const start = options.cursor === undefined ? null : keyOf(options.cursor, options.isKey)

  async function pageAfter(after: string | null, size: number): Promise<KeyedPage<T>> {
    options.signal?.throwIfAborted()
    return read({ after, limit: size })
  }

  return {
    async page(): Promise<Page<T>> {
      if (limit === 0) return { items: [], next: null }
      const { items, last } = await pageAfter(start, limit ?? PAGE)
      return { items, next: last === null ? null : cursorOf(last) }
    },
    async *[Symbol.asyncIterator]() {
      let after = start
      let left = limit ?? Number.POSITIVE_INFINITY
      while (left > 0) {
        const { items, last } = await pageAfter(after, Math.min(left, PAGE))
        yield* items
        left -= items.length
        if (last === null) return
        after = last
      }
    },
  }
}

// Counts of 0 or less give nothing (spec §12).
function limitOf(limit: number | undefined): number | undefined {
  if (limit === undefined) return undefined
  if (!Number.isInteger(limit) || limit > LARGEST_PAGE) {
    throw new InvalidOptionError('limit', limit, `pass a whole number up to ${LARGEST_PAGE}`)
  }
  return Math.max(0, limit)
}

function cursorOf(key: string): Cursor {
  return asCursor(Buffer.from(key).toString('base64url'))
}

function keyOf(cursor: string, isKey: (key: string) => boolean): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (isKey(key)) return key
  throw new InvalidOptionError('cursor', cursor, 'pass the `next` of a page of the same listing')
}

/** The brand says where a cursor comes from; at run time it is text. */
function asCursor(text: string): Cursor {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a brand is nothing at run time
  return text as Cursor
}
