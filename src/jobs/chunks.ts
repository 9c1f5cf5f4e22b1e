import { MOST_BYTES, MOST_ROWS } from '../database/batcher.ts'
import type { Ask } from './ask.ts'
import type { AskPieces } from './ask-pieces.ts'
import { bytesOf } from './insert.ts'

/** Asks of one call that fit a statement. */
export interface Chunk {
  readonly asks: readonly Ask[]
  readonly isLast: boolean
}

export type Chunks = AsyncGenerator<Chunk, void>

/** Read as they are needed, and a piece more: whether one is the last is known with it. */
export async function* chunksOf(pieces: AskPieces): Chunks {
  let asks: Ask[] = []
  let bytes = 0
  for await (const piece of pieces) {
    for (const ask of piece) {
      const size = bytesOf(ask)
      if (asks.length > 0 && (asks.length === MOST_ROWS || bytes + size > MOST_BYTES)) {
        yield { asks, isLast: false }
        asks = []
        bytes = 0
      }
      asks.push(ask)
      bytes += size
    }
  }
  if (asks.length > 0) yield { asks, isLast: true }
}

/** All of them before the first is given. */
export async function* readAhead(chunks: Chunks): Chunks {
  const all: Chunk[] = []
  for await (const chunk of chunks) all.push(chunk)
  yield* all
}

/** The next is read while the last is written: inputs are checked while the server works. */
export async function* oneAhead<T>(items: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
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

export async function* resumed<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield first
  yield* rest
}
