import type { StreamDefinition } from '../core/event-producer.ts'
import type { Executor } from '../database/executor.ts'
import type { Bells } from './bells.ts'
import { takeWhenFree } from './consumer.ts'
import type { Held } from './consumer.ts'
import { readEvent } from './event.ts'
import type { StreamEvent } from './event.ts'
import { feed } from './feed.ts'
import type { Feed } from './feed.ts'
import { gapBefore, positionOf } from './position.ts'
import type { From } from './position.ts'
import type { StoredEvent } from './read-statements.ts'
import type { Sequencers } from './sequence.ts'
import { EventsTrimmedError, InvalidEventError } from './stream-errors.ts'

/**
 * What a consumer does before anything is handed on: it takes the name, finds where to go on, and
 * reads from there, knowing when events were trimmed under it. Shared by `subscribe` and `consume`.
 */
export interface Intake {
  readonly held: Held
  /** The offset behind which the next events are read. */
  readonly position: number
  /** The next events as they are stored. None when the signal aborts or the name is lost. */
  next(most: number): Promise<readonly StoredEvent[]>
  /** Reads on from there: what was read behind it is forgotten. */
  rewind(position: number): void
  close(): Promise<void>
}

export interface IntakeOptions {
  readonly stream: StreamDefinition
  readonly as: string
  readonly from: From
  readonly leaseMs: number
  readonly onTrimmed: 'throw' | 'skip'
  readonly onInvalid: 'throw' | 'skip'
}

/** What all readers of one client share. */
export interface IntakeParts {
  readonly executor: Executor
  readonly sequencers: Sequencers
  readonly bells: Bells
  readonly isAnnounced: boolean
  readonly newHolder: () => string
  /** Something failed in the background and is tried again. */
  readonly onFailure: (stream: string, error: unknown) => void
}

/** Null when the signal aborts while it stands by. */
export async function openIntake(
  options: IntakeOptions,
  parts: IntakeParts,
  signal: AbortSignal,
): Promise<Intake | null> {
  const { executor, sequencers, bells, isAnnounced } = parts
  const stream = options.stream.name
  const sequencer = sequencers.of(stream)
  const onFailure = (error: unknown): void => parts.onFailure(stream, error)
  const place = { stream, consumer: options.as }
  const consumer = {
    place,
    holder: parts.newHolder(),
    leaseMs: options.leaseMs,
    clock: executor.clock,
    lane: () => executor.lane('consumers'),
    bells,
    isAnnounced,
    onFailure,
  }
  const held = await takeWhenFree(consumer, signal)
  if (held === null) return null
  const either = AbortSignal.any([signal, held.lost])
  const runner = (): ReturnType<Executor['lane']> => executor.lane('read events')
  try {
    const position = await begin(held, () =>
      positionOf(options.from, { stream, runner: runner(), sequencer }),
    )
    const given = { stream, clock: executor.clock, runner, sequencer, bells, onFailure }
    return intake({ held, options, events: feed({ ...given, signal: either }), position })
  } catch (error) {
    await held.release()
    throw error
  }
}

/** Where to go on; saved at once, so that whoever comes next begins there too. */
async function begin(held: Held, find: () => Promise<number | null>): Promise<number | null> {
  if (held.savedOffset !== null) return held.savedOffset
  const position = await find()
  if (position === null) return null
  held.acknowledge(position)
  await held.flush()
  return position
}

interface Opened {
  readonly held: Held
  readonly options: IntakeOptions
  readonly events: Feed
  readonly position: number | null
}

function intake({ held, options, events, position: begun }: Opened): Intake {
  // One that begins with whatever is there has missed nothing.
  let isFresh = begun === null
  let position = begun ?? 0
  return {
    held,
    get position() {
      return position
    },
    async next(most) {
      const found = await events.next(position, most)
      const gap = isFresh ? null : gapBefore(position, found)
      if (gap !== null && options.onTrimmed === 'throw') {
        throw new EventsTrimmedError(options.stream.name, gap.from, gap.to)
      }
      isFresh &&= found.length === 0
      position = found.at(-1)?.event_offset ?? position
      return found
    },
    rewind(to) {
      position = to
    },
    async close() {
      events[Symbol.dispose]()
      await held.release()
    },
  }
}

/** The event, or null where it does not parse and is to be passed over. Rejects with `InvalidEventError`. */
export async function readOrSkip(
  { stream, onInvalid }: Pick<IntakeOptions, 'stream' | 'onInvalid'>,
  stored: StoredEvent,
): Promise<StreamEvent | null> {
  try {
    return await readEvent(stream, stored)
  } catch (error) {
    if (onInvalid === 'skip' && error instanceof InvalidEventError) return null
    throw error
  }
}
