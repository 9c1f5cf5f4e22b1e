import type { EventProducer } from '../core/event-producer.ts'
import type { MessageProducer } from '../core/message-producer.ts'
import type { Ask } from './ask.ts'
import { prepareAsk } from './ask.ts'
import { askPieces } from './ask-pieces.ts'
import type { AskPieces } from './ask-pieces.ts'
import type { EnqueueResult } from './job.ts'
import type { InputOf, JobKind } from './kind.ts'
import type { EnqueueOptions, InputArgs } from './options.ts'
import type { KnownDefaults } from './queue-defaults.ts'

/** The verbs that make sense inside a transaction of yours; a client is one too. */
export interface Producer extends JobProducer, EventProducer, MessageProducer {
  /**
   * Says something to whoever listens on the channel now (`mill.listen`), and keeps it nowhere. In your
   * transaction it is said with your commit, and equal ones once. `payload`: text, at most 7 999 bytes of
   * UTF-8, default empty. Where the connection breaks it may be said twice.
   *
   * Throws `InvalidNameError`, `InvalidOptionError` (U+0000, half of a surrogate pair) and
   * `PayloadTooLargeError` before anything is sent, `DatabaseError` when the database stays away for 10 s.
   *
   * @example
   * await mill.notify('prices', JSON.stringify({ id: 7 }))
   */
  notify(channel: string, payload?: string): Promise<void>
}

/** Those for jobs. */
export interface JobProducer {
  /**
   * Enqueues one job. Resolves once it is committed (or, in your transaction, written: your commit
   * decides). Throws `InvalidInputError`, `InvalidOptionError`, `PayloadTooLargeError` before
   * anything is written, `DatabaseError` when the database stays away for 10 s.
   *
   * @example
   * const { id } = await mill.enqueue(welcome, { userId }, { delay: '5m' })
   */
  enqueue<K extends JobKind>(kind: K, ...args: InputArgs<K, EnqueueOptions>): Promise<EnqueueResult>
  /**
   * Enqueues any number of jobs of a kind, all or nothing, in statements of up to 5 000; inputs are
   * read as they are needed. Results come in the order of the inputs.
   */
  enqueueMany<K extends JobKind>(
    kind: K,
    inputs: Iterable<InputOf<K>> | AsyncIterable<InputOf<K>>,
    options?: EnqueueOptions | ((input: InputOf<K>, index: number) => EnqueueOptions),
  ): Promise<readonly EnqueueResult[]>
}

/** Where checked asks go: to the client's own connection, or into the caller's transaction. */
export interface Destination {
  readonly now: () => number
  readonly maxPayload: number
  readonly queues: KnownDefaults
  readonly one: (ask: Ask) => Promise<EnqueueResult>
  readonly many: (pieces: AskPieces) => Promise<readonly EnqueueResult[]>
}

export function producer(destination: Destination): JobProducer {
  const { now, maxPayload, queues } = destination

  function prepare(kind: JobKind, input: unknown, options: EnqueueOptions): Ask | Promise<Ask> {
    return prepareAsk(kind, input, { options, now: now(), maxPayload, queues })
  }

  return {
    async enqueue(kind: JobKind, input?: unknown, options: EnqueueOptions = {}) {
      const ask = prepare(kind, input, options)
      // Not awaited where it is there already: calls of one turn leave together, in their order.
      return destination.one(ask instanceof Promise ? await ask : ask)
    },
    enqueueMany(kind, inputs, options = {}) {
      let index = -1
      const pieces = askPieces(inputs, (input) => {
        index += 1
        return prepare(kind, input, typeof options === 'function' ? options(input, index) : options)
      })
      return destination.many(pieces)
    },
  }
}
