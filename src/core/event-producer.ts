import type { Schema } from './schema.ts'

/**
 * The types of streams that producers need: what a definition carries, and the verbs that publish.
 * They are here, below jobs and worker, so that `run.transaction` offers them without either knowing
 * streams; the verbs themselves are in `streams/`.
 */
export interface StreamTypes {
  name: string
  input: unknown
  data: unknown
}

/** A stream: its name and the type of its events. Made by `defineStream`. */
export interface StreamDefinition<T extends StreamTypes = StreamTypes> {
  readonly name: T['name']
  readonly '~stream'?: T | undefined
}

type TypesOf<S extends StreamDefinition> = NonNullable<S['~stream']>

/** What `publish` takes. */
export type EventIn<S extends StreamDefinition> = TypesOf<S>['input']

/** What readers get: the schema's output. */
export type DataOf<S extends StreamDefinition> = TypesOf<S>['data']

/** How a stream is known to those who publish and read: its name, and the schema of its events. */
export interface StreamSource {
  readonly name: string
  readonly data: Schema
}

export interface PublishOptions {
  /** What the event is about: text of 1 to 1 000 bytes, carried as it is. Default none. */
  key?: string | undefined
  /** A ULID of your own: the same id again in the same stream is the same event. Default a new one. */
  id?: string | undefined
}

/** An event that was published. Its offset is given after the commit: `mill.streams.offset`. */
export interface Published {
  readonly id: string
}

/** One event for `publishMany`. */
export type EventToPublish<S extends StreamDefinition> = { data: EventIn<S> } & PublishOptions

/** The verbs for streams that make sense inside a transaction of yours. */
export interface EventProducer {
  /**
   * Publishes one event. Resolves once it is committed (or, in your transaction, written: your commit
   * decides), with its id; the offset is given afterwards (`mill.streams.offset`). The same id again
   * is dropped, as long as the first is not trimmed. Throws `InvalidInputError`,
   * `InvalidOptionError`, `InvalidNameError`, `PayloadTooLargeError` before anything is written,
   * `DatabaseError` when the database stays away for 10 s.
   *
   * @example
   * await mill.publish(orders, { order: 7, status: 'paid' }, { key: 'order-7' })
   */
  publish<S extends StreamDefinition>(
    stream: S,
    data: EventIn<S>,
    options?: PublishOptions,
  ): Promise<Published>
  /**
   * Publishes any number of events, all or nothing, in statements of up to 5 000, in their order.
   * Events are read as they are needed. Throws as `publish`.
   *
   * @example
   * await mill.publishMany(orders, [{ data: { order: 7 } }, { data: { order: 8 }, key: 'order-8' }])
   */
  publishMany<S extends StreamDefinition>(
    stream: S,
    events: Iterable<EventToPublish<S>> | AsyncIterable<EventToPublish<S>>,
  ): Promise<readonly Published[]>
  /**
   * Says how far the consumer `as` has come: in your transaction together with what the events made
   * of it. Only forward: a smaller offset than the saved one changes nothing. Throws
   * `InvalidOptionError` for an offset beyond the stream's head, as of another stream.
   *
   * @example
   * await sql.begin(async (tx) => mill.in(tx).saveOffset(orders, 'billing', event.offset))
   */
  saveOffset(stream: StreamDefinition, as: string, offset: number): Promise<void>
}
