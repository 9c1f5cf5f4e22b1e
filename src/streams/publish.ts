import type {
  EventProducer,
  Published,
  PublishOptions,
  StreamDefinition,
} from '../core/event-producer.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { batcher, MOST_BYTES, MOST_ROWS } from '../database/batcher.ts'
import type { Executor, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { withSavepoint } from '../database/savepoint.ts'
import { eventOf, prepareEvent } from './event.ts'
import { publishEvents } from './publish-statements.ts'
import type { EventRow } from './publish-statements.ts'
import { saveForward } from './save-offset.ts'
import { sourceOf } from './stream.ts'

/**
 * Publishing is an insert into the inbox and nothing more: no offset, no lock, no row of the stream,
 * so that an open transaction delays only its own events. Alone, calls that come while a statement
 * is in flight go together in the next one. A statement whose answer was lost is simply sent again:
 * what is in the inbox twice gets one offset.
 */
export interface Publisher {
  readonly own: EventProducer
  /** The same verbs on the caller's transaction; `inside` gives each call its turn there. */
  on(inside: Inside): EventProducer
  /** Resolves when everything published so far is answered. */
  idle(): Promise<void>
}

export type Inside = <R>(work: (runner: Runner) => Promise<R>) => Promise<R>

export interface PublisherOptions {
  readonly executor: Executor
  readonly maxPayload: number
  /** Whether hints are sent. */
  readonly isAnnounced: boolean
}

/** Where checked events go. */
interface Destination {
  readonly one: (row: EventRow) => Promise<unknown>
  readonly many: (chunks: Chunks) => Promise<readonly Published[]>
  readonly inside: Inside
}

type Chunks = AsyncGenerator<readonly EventRow[], void>

// For how long a publish outlasts a database that is away.
const OUTLAST = 10_000
const EVENT_OPTIONS = ['data', 'key', 'id']

export function publisher({ executor, maxPayload, isAnnounced }: PublisherOptions): Publisher {
  const { clock } = executor
  const asked = new Set<Promise<unknown>>()
  const lane = (): Runner & { ready(): Promise<void> } => executor.lane('publish')
  const batches = batcher<EventRow, true>({
    flush: (rows) =>
      outlasting(async () => {
        await lane().ready()
        await write(lane(), rows)
        return rows.map(() => true)
      }),
    bytes: bytesOf,
  })

  function outlasting<T>(work: () => Promise<T>): Promise<T> {
    const end = clock.now() + OUTLAST
    return repeat({ clock, until: () => end }, work)
  }

  async function write(runner: Runner, rows: readonly EventRow[]): Promise<readonly Published[]> {
    const events = JSON.stringify(rows)
    await runner.run(publishEvents, { events, is_announced: isAnnounced })
    return rows.map(({ id }) => ({ id }))
  }

  async function writeAll(runner: Runner, chunks: Chunks): Promise<readonly Published[]> {
    const published: Published[] = []
    for await (const rows of chunks) published.push(...(await write(runner, rows)))
    return published
  }

  /** One statement is repeated where it must be; what was read from a longer call is gone. */
  async function manyAlone(read: Chunks): Promise<readonly Published[]> {
    // Where there is only one connection a transaction would keep out what the events come from.
    const chunks = executor.engine.isSingleConnection ? readAhead(read) : read
    try {
      return await manyChunks(chunks)
    } finally {
      await chunks.return()
    }
  }

  async function manyChunks(chunks: Chunks): Promise<readonly Published[]> {
    const first = await chunks.next()
    if (first.done === true) return []
    const second = await chunks.next()
    const many = executor.lane('publish many')
    if (second.done === true) return outlasting(() => write(many, first.value))
    await outlasting(() => many.ready())
    const all = resumed([first.value, second.value], chunks)
    return many.transaction((runner) => writeAll(runner, all))
  }

  function track<T>(work: Promise<T>): Promise<T> {
    asked.add(work)
    void Promise.allSettled([work]).then(() => asked.delete(work))
    return work
  }

  function prepare(
    stream: StreamDefinition,
    event: { readonly data: unknown } & PublishOptions,
  ): EventRow | Promise<EventRow> {
    return prepareEvent(stream, event, { now: clock.now(), maxPayload })
  }

  function verbs({ one, many, inside }: Destination): EventProducer {
    return {
      async publish(stream, data, options = {}) {
        const row = prepare(stream, eventOf(data, options))
        // Not awaited where it is there already: calls of one turn leave together, in their order.
        const { id } = row instanceof Promise ? await row : row
        await one(row instanceof Promise ? await row : row)
        return { id }
      },
      publishMany: (stream, events) =>
        many(
          chunksOf(events, (event) =>
            prepare(stream, {
              ...checkOptions('publishMany()', event, EVENT_OPTIONS),
              data: event.data,
            }),
          ),
        ),
      async saveOffset(stream, as, offset) {
        const place = { stream: sourceOf(stream).name, consumer: checkName('consumer', as) }
        await inside((runner) => saveForward(runner, place, offset))
      },
    }
  }

  return {
    own: verbs({
      one: (row) => batches.add(row),
      many: (chunks) => track(manyAlone(chunks)),
      inside: (work) => outlasting(() => work(executor.lane('save offset'))),
    }),
    on: (inside) =>
      verbs({
        inside,
        one: (row) => inside((runner) => write(runner, [row])),
        many: (chunks) => inside((runner) => withSavepoint(runner, () => writeAll(runner, chunks))),
      }),
    async idle() {
      await Promise.allSettled([batches.idle(), ...asked])
    },
  }
}

/** About what an event adds to a statement. */
function bytesOf({ stream, data }: EventRow): number {
  return data.length + stream.length + 100
}

/** Rows in pieces that fit a statement each, read as they are needed. */
async function* chunksOf<T>(
  events: Iterable<T> | AsyncIterable<T>,
  prepare: (event: T) => EventRow | Promise<EventRow>,
): Chunks {
  const pieces = gathering()
  if (Symbol.asyncIterator in events) {
    for await (const event of events) yield* pieces.add(await prepare(event))
  } else {
    // Nothing is awaited that is there: that alone costs as much as the row.
    for (const event of events) {
      const row = prepare(event)
      const full = pieces.add(row instanceof Promise ? await row : row)
      if (full.length > 0) yield* full
    }
  }
  if (pieces.rest.length > 0) yield pieces.rest
}

interface Gathering {
  /** The piece that is full without this row, if one is. */
  add(row: EventRow): readonly (readonly EventRow[])[]
  readonly rest: readonly EventRow[]
}

function gathering(): Gathering {
  let piece: EventRow[] = []
  let bytes = 0
  return {
    add(row) {
      const size = bytesOf(row)
      const isFull = piece.length === MOST_ROWS || bytes + size > MOST_BYTES
      const full = isFull && piece.length > 0 ? [piece] : NONE
      if (full !== NONE) {
        piece = []
        bytes = 0
      }
      piece.push(row)
      bytes += size
      return full
    },
    get rest() {
      return piece
    },
  }
}

const NONE: readonly (readonly EventRow[])[] = []

async function* readAhead(chunks: Chunks): Chunks {
  const all: (readonly EventRow[])[] = []
  for await (const chunk of chunks) all.push(chunk)
  yield* all
}

async function* resumed(ahead: readonly (readonly EventRow[])[], rest: Chunks): Chunks {
  yield* ahead
  yield* rest
}
