import type { Ask } from './ask.ts'
import { bytesOf } from './insert.ts'

/**
 * The asks of one call as they are read, in pieces: an ask takes less time than a step of an async
 * generator, and each goes through several. A piece is much smaller than a statement. What had to be
 * waited for goes on at once, since what comes next may be waited for, too.
 */
export type AskPieces = AsyncIterable<readonly Ask[]>

const PIECE_ASKS = 500
const PIECE_BYTES = 500_000

/** Prepares each input when it is needed; a source that is not read to its end is closed. */
export async function* askPieces<Input>(
  inputs: Iterable<Input> | AsyncIterable<Input>,
  prepare: (input: Input) => Ask | Promise<Ask>,
): AsyncGenerator<readonly Ask[], void> {
  if (Symbol.asyncIterator in inputs) {
    for await (const input of inputs) yield [await prepare(input)]
    return
  }
  let piece: Ask[] = []
  let bytes = 0
  for (const each of inputs) {
    const input = each instanceof Promise ? await each : each
    const prepared = prepare(input)
    const ask = prepared instanceof Promise ? await prepared : prepared
    piece.push(ask)
    bytes += bytesOf(ask)
    if (ask !== prepared || piece.length === PIECE_ASKS || bytes >= PIECE_BYTES) {
      yield piece
      piece = []
      bytes = 0
    }
  }
  if (piece.length > 0) yield piece
}
