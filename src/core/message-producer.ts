import type { Duration } from './duration.ts'

/**
 * The types of outboxes that senders need: what a definition carries, and the verb that sends. They
 * are here, below jobs, so that every producer offers the verb without knowing the outbox; the verb
 * itself is in `outbox/`.
 */
export interface MessageTypes {
  name: string
  input: unknown
  message: unknown
}

/** An outbox: its name and the type of its messages. Made by `defineOutbox`. */
export interface OutboxDefinition<T extends MessageTypes = MessageTypes> {
  readonly name: T['name']
  readonly '~outbox'?: T | undefined
}

type TypesOf<O extends OutboxDefinition> = NonNullable<O['~outbox']>

/** What `send` takes. */
export type MessageIn<O extends OutboxDefinition> = TypesOf<O>['input']

/** What is delivered: the schema's output. */
export type MessageOf<O extends OutboxDefinition> = TypesOf<O>['message']

export interface SendOptions {
  /** Messages of one key are delivered one after another, in the order of their commits: text of 1 to 1 000 bytes. Default what the outbox says, else none. */
  key?: string | undefined
  /** Not to be delivered before: messages of its key that were sent later wait behind it. Default at once. */
  delay?: Duration | undefined
}

/** A message that was sent: its id is that of its job. */
export interface Sent {
  readonly id: string
}

/** The verb for outboxes that makes sense inside a transaction of yours. */
export interface MessageProducer {
  /**
   * Sends a message: it is written, and a worker that delivers the outbox delivers it afterwards, at
   * least once. Resolves once it is committed (or, in your transaction, written: a rollback delivers
   * nothing). Throws `InvalidInputError`, `InvalidOptionError`, `InvalidNameError`,
   * `PayloadTooLargeError` before anything is written, `DatabaseError` when the database stays away
   * for 10 s.
   *
   * @example
   * await sql.begin(async (tx) => {
   *   await tx`update orders set status = 'paid' where id = ${order}`
   *   await mill.in(tx).send(webhooks, { order, status: 'paid' }, { key: `order-${order}` })
   * })
   */
  send<O extends OutboxDefinition>(
    outbox: O,
    message: MessageIn<O>,
    options?: SendOptions,
  ): Promise<Sent>
}
