import { milliseconds } from '../core/duration.ts'
import type { Duration } from '../core/duration.ts'
import { instantText } from '../core/instant-text.ts'
import { instant } from '../core/instant.ts'
import { checkOptions } from '../core/names.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { trimEvents } from './admin-statements.ts'
import { streamEnds } from './position-statements.ts'
import { offsetOption } from './save-offset.ts'

/** Which events go. */
export interface TrimOptions {
  /**
   * A number is an offset: events before it. A Date or a text such as `'7d'`: events before the first
   * that was published then or later, so a stream only ever loses its front.
   */
  before: number | Date | Exclude<Duration, number>
}

export interface Trimmed {
  readonly removed: number
}

const BATCH = 10_000

/**
 * Removes the front of a stream, 10 000 events a statement. What is left keeps its offsets, and the
 * last event stays whatever is asked: offsets go on behind it.
 */
export async function trimStream(
  stream: string,
  options: TrimOptions,
  { runner, now }: { readonly runner: Runner; readonly now: number },
): Promise<Trimmed> {
  const limit = limitOf(options, now)
  if (limit.before !== null) await checkBefore(stream, limit.before, runner)
  let removed = 0
  let after = 0
  for (;;) {
    const [row] = await runner.run(trimEvents, { stream, after, ...limit, most: BATCH })
    removed += row?.removed ?? 0
    if (row === undefined || row.looked_until === null) return { removed }
    after = row.looked_until
  }
}

interface Limit {
  readonly before: number | null
  readonly since: string | null
}

function limitOf(options: TrimOptions, now: number): Limit {
  const { before } = checkOptions('trim()', options, ['before'])
  if (typeof before === 'number') return { before: offsetOption('before', before, 1), since: null }
  const since =
    before instanceof Date ? instant('before', before) : now - milliseconds('before', before)
  return { before: null, since: instantText(since) }
}

async function checkBefore(stream: string, before: number, runner: Runner): Promise<void> {
  const [{ head } = { head: 0 }] = await runner.run(streamEnds, { stream })
  if (before <= head + 1) return
  throw new InvalidOptionError(
    'before',
    before,
    `stream ${JSON.stringify(stream)} ends at ${head}: at most ${head + 1} leaves anything to say. Is it the offset of another stream, or a duration? Write that as text: '7d'.`,
  )
}
