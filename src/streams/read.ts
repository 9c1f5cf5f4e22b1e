import type { StreamDefinition } from '../core/event-producer.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { readOrSkip } from './intake.ts'
import type { StreamEvent } from './event.ts'
import { onInvalidOption, onTrimmedOption } from './options.ts'
import { gapBefore } from './position.ts'
import { streamEnds } from './position-statements.ts'
import { readEvents, readEventsOfKey } from './read-statements.ts'
import type { StoredEvent } from './read-statements.ts'
import { offsetOption } from './save-offset.ts'
import type { Sequencers } from './sequence.ts'
import { sourceOf } from './stream.ts'
import { EventsTrimmedError } from './stream-errors.ts'
import type { ReadOptions } from './streams.ts'

const LIMIT = 100
const LARGEST = 10_000

/** A piece of a stream. What has no offset yet gets one first, so that what was committed is seen. */
export async function readStream(
  stream: StreamDefinition,
  options: ReadOptions,
  { runner, sequencers }: { readonly runner: Runner; readonly sequencers: Sequencers },
): Promise<readonly StreamEvent[]> {
  const { name } = sourceOf(stream)
  const { after, key, sequence = true } = options
  const most = limitOf(options.limit)
  const from = after === undefined ? null : offsetOption('after', after, 0)
  const onTrimmed = onTrimmedOption(options.onTrimmed)
  const onInvalid = onInvalidOption(options.onInvalid)
  if (most === 0) return []
  const place = { stream: name, after: from ?? 0, most }
  let stored = await readOnce(runner, place, key)
  // A full answer is final: what gets its offset later stands behind it.
  if (sequence && stored.length < most) {
    await sequencers.of(name).look(false)
    await sequencers.of(name).catchUp()
    stored = await readOnce(runner, place, key)
  }
  if (from !== null && onTrimmed === 'throw') {
    const found = key === undefined ? stored : await firstOf(name, runner)
    checkGap(name, from, found)
  }
  const events: StreamEvent[] = []
  for (const each of stored) {
    const event = await readOrSkip({ stream, onInvalid }, each)
    if (event !== null) events.push(event)
  }
  return events
}

function readOnce(
  runner: Runner,
  place: { readonly stream: string; readonly after: number; readonly most: number },
  key: string | undefined,
): Promise<readonly StoredEvent[]> {
  if (key === undefined) return runner.run(readEvents, place)
  return runner.run(readEventsOfKey, { ...place, key })
}

function checkGap(
  stream: string,
  after: number,
  found: readonly Pick<StoredEvent, 'event_offset'>[],
): void {
  const gap = gapBefore(after, found)
  if (gap !== null && gap.to >= gap.from) throw new EventsTrimmedError(stream, gap.from, gap.to)
}

async function firstOf(
  stream: string,
  runner: Runner,
): Promise<readonly Pick<StoredEvent, 'event_offset'>[]> {
  const [row] = await runner.run(streamEnds, { stream })
  const first = row?.first ?? null
  return first === null ? [] : [{ event_offset: first }]
}

function limitOf(limit: unknown = LIMIT): number {
  if (typeof limit === 'number' && Number.isInteger(limit) && limit <= LARGEST) {
    return Math.max(0, limit)
  }
  throw new InvalidOptionError('limit', limit, `pass a whole number up to ${LARGEST}`)
}
