import { instantText } from '../core/instant-text.ts'
import { instant } from '../core/instant.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { firstEventSince, streamEnds } from './position-statements.ts'
import type { StoredEvent } from './read-statements.ts'
import { beyond, offsetOption } from './save-offset.ts'
import type { Sequencer } from './sequence.ts'

/**
 * Where a consumer begins that has saved nothing yet; one that has goes on behind what it saved.
 * `'saved'` and `'start'`: with the first event there is; `'end'`: with what is published from now
 * on; a number: with the event of this offset; a Date: with the first event published then or later.
 */
export type From = 'saved' | 'start' | 'end' | number | Date

/** Checks what was given before anything is done. Throws `InvalidOptionError`. */
export function checkFrom(from: unknown): From {
  if (from === undefined || from === 'saved') return 'saved'
  if (from === 'start' || from === 'end') return from
  if (typeof from === 'number') return offsetOption('from', from, 1)
  if (from instanceof Date) return new Date(instant('from', from))
  throw new InvalidOptionError('from', from, "pass 'saved', 'start', 'end', an offset or a Date")
}

export interface PositionOptions {
  readonly stream: string
  readonly runner: Runner
  readonly sequencer: Sequencer
}

const PIECE = 100_000

/** The offset to go on behind; null: whatever comes first. */
export async function positionOf(from: From, options: PositionOptions): Promise<number | null> {
  if (from === 'saved' || from === 'start') return null
  // What was published before the call is before it in the stream.
  await options.sequencer.look(true)
  await options.sequencer.catchUp()
  const [{ head } = { head: 0 }] = await options.runner.run(streamEnds, { stream: options.stream })
  if (from === 'end') return head
  if (from instanceof Date) return (await firstSince(from.getTime(), options)) ?? head
  if (from > head + 1) throw beyond('from', from, { stream: options.stream, head })
  return from - 1
}

/** What was trimmed between the last event that was read and these. */
export function gapBefore(
  after: number,
  [first]: readonly Pick<StoredEvent, 'event_offset'>[],
): { readonly from: number; readonly to: number } | null {
  if (first === undefined || first.event_offset === after + 1) return null
  return { from: after + 1, to: first.event_offset - 1 }
}

async function firstSince(
  since: number,
  { stream, runner }: PositionOptions,
): Promise<number | null> {
  let after = 0
  for (;;) {
    const piece = { stream, after, most: PIECE, since: instantText(since) }
    const [row] = await runner.run(firstEventSince, piece)
    if (row?.looked_until === undefined || row.looked_until === null) return null
    if (row.event_offset !== null) return row.event_offset - 1
    after = row.looked_until
  }
}
