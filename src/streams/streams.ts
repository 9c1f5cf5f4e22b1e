import type { DataOf, Published, StreamDefinition } from '../core/event-producer.ts'
import { isId } from '../core/id.ts'
import { checkKey, checkName, checkOptions } from '../core/names.ts'
import type { Executor, Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { listConsumers, listStreams } from './admin-statements.ts'
import type { Bells } from './bells.ts'
import type { StreamEvent } from './event.ts'
import { readStream } from './read.ts'
import { saveForward } from './save-offset.ts'
import type { Sequencers } from './sequence.ts'
import { sourceOf } from './stream.ts'
import { trimStream } from './trim.ts'
import type { Trimmed, TrimOptions } from './trim.ts'
import { waitForOffset } from './wait-offset.ts'

export interface ReadOptions {
  /** Events behind this offset. Default: from the first there is. */
  after?: number | undefined
  /** At most so many; 0 or less gives none. Default 100, at most 10 000. */
  limit?: number | undefined
  /** Only events with this key. */
  key?: string | undefined
  /** Where events behind `after` were trimmed: `EventsTrimmedError` (default), or go on with the first there is. */
  onTrimmed?: 'throw' | 'skip' | undefined
  /** An event that the schema refuses: `InvalidEventError` (default), or leave it out. */
  onInvalid?: 'throw' | 'skip' | undefined
  /**
   * Whether what has no offset yet is given one first. Default true; false writes nothing, and does
   * not see what was published since somebody last read.
   */
  sequence?: boolean | undefined
}

export interface StreamRecord {
  readonly stream: string
  /** The largest offset; 0: none was given yet. */
  readonly head: number
  /** How many events there are: those that were not trimmed. */
  readonly events: number
  /** Published, and without an offset yet; counted up to 10 000. */
  readonly waiting: number
}

export interface ConsumerRecord {
  readonly as: string
  /** The last event that is done; 0: none. */
  readonly offset: number
  /** How many events it has still to read. */
  readonly lag: number
  /** The process that reads in its name, null while none does. */
  readonly holder: string | null
}

/** What can be asked and done about streams, beside publishing and following them. */
export interface Streams {
  /**
   * Events in the order of their offsets. Throws `EventsTrimmedError`, `InvalidEventError`,
   * `InvalidOptionError`, `DatabaseError`.
   *
   * @example
   * const events = await mill.streams.read(orders, { after: 100, limit: 50 })
   */
  read<S extends StreamDefinition>(
    stream: S,
    options?: ReadOptions,
  ): Promise<readonly StreamEvent<DataOf<S>>[]>
  /**
   * The offset of an event that was published: waits for the commit, and gives offsets itself. Of an
   * event that was rolled back, or trimmed, it waits until the signal aborts, and rejects with its reason.
   *
   * @example
   * const published = await mill.publish(orders, { order: 7 })
   * const offset = await mill.streams.offset(orders, published)
   */
  offset(
    stream: StreamDefinition,
    published: Published | string,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<number>
  /** The consumers of a stream, by name. */
  consumers(stream: StreamDefinition): Promise<readonly ConsumerRecord[]>
  /**
   * Says by hand how far a consumer has come, forward only; answers whether it moved. Throws
   * `InvalidOptionError` for an offset beyond the stream's head, as of another stream.
   */
  save(stream: StreamDefinition, as: string, offset: number): Promise<boolean>
  /**
   * Removes the front of a stream, in batches; offsets stay as they are, and the last event stays.
   * Consumers that have not read what goes get `EventsTrimmedError`: see `consumers` first. Throws
   * `InvalidOptionError` for an offset beyond the head.
   *
   * @example
   * await mill.streams.trim(orders, { before: '30d' })
   */
  trim(stream: StreamDefinition, options: TrimOptions): Promise<Trimmed>
  /** All streams in which something was published, by name. */
  list(): Promise<readonly StreamRecord[]>
}

export interface StreamsOptions {
  readonly executor: Executor
  readonly sequencers: Sequencers
  readonly bells: Bells
  readonly closed: AbortSignal
}

export function streamsOf(parts: StreamsOptions): Streams {
  const { executor } = parts
  const runner = (): Runner => executor.lane('read')
  return {
    async read<S extends StreamDefinition>(stream: S, options: ReadOptions = {}) {
      const events = await readStream(stream, checkRead(options), { ...parts, runner: runner() })
      return events
    },
    async offset(stream, published, options = {}) {
      const { name } = sourceOf(stream)
      checkOptions('offset()', options, ['signal'])
      const id = typeof published === 'string' ? published : published.id
      if (isId(id)) return waitForOffset({ stream: name, id }, options.signal, parts)
      throw new InvalidOptionError(
        'published',
        published,
        'pass what publish() answered, or its id',
      )
    },
    async consumers(stream) {
      const rows = await runner().run(listConsumers, { stream: sourceOf(stream).name })
      return rows.map(({ consumer: as, saved_offset: offset, lag, holder }) => {
        return { as, offset, lag, holder }
      })
    },
    async save(stream, as, offset) {
      const place = { stream: sourceOf(stream).name, consumer: checkName('consumer', as) }
      return saveForward(executor.lane('save offset'), place, offset)
    },
    async trim(stream, options) {
      const { name } = sourceOf(stream)
      const lane = executor.lane('maintenance')
      return trimStream(name, options, { runner: lane, now: executor.clock.now() })
    },
    async list() {
      const rows = await runner().run(listStreams, {})
      return rows.map(({ stream, head, events, waiting }) => ({ stream, head, events, waiting }))
    },
  }
}

const READ_OPTIONS = ['after', 'limit', 'key', 'onTrimmed', 'onInvalid', 'sequence']

function checkRead(options: ReadOptions): ReadOptions {
  checkOptions('read()', options, READ_OPTIONS)
  if (options.key !== undefined) checkKey('event key', options.key)
  return options
}
