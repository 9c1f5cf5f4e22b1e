import { decodeJson } from '../core/json.ts'
import type { MessageOf, OutboxDefinition } from '../core/message-producer.ts'
import { InvalidOptionError } from '../errors.ts'
import type { JobKind } from '../jobs/kind.ts'
import { STAMPED_KEY } from '../outbox/message.ts'
import { outboxSource } from '../outbox/outbox.ts'
import type { Run } from './run.ts'
import { stampedOn } from './stamped.ts'

/** One try to deliver a message. */
export interface Delivery {
  /** The message's id, the same at every try: the receiver's idempotency key. */
  readonly id: string
  /** Null: it has none, and is in no order with others. */
  readonly key: string | null
  /** 1 for the first try; grows with each, also of other workers. */
  readonly number: number
  /** How many tries failed before this one. */
  readonly failures: number
  /** Aborts at a shutdown, a cancel, a timeout, or when the message was lost to another worker. */
  readonly signal: AbortSignal
  /** When `timeout` ends this try; null without one. */
  readonly deadline: Date | null
  /** Keeps a text of at most 8 kB with the record of this try. */
  note(text: string): void
}

/**
 * Delivers one message: returning (whatever it is) means delivered, throwing that it is tried again
 * by the outbox's `retry`; `RetryIn` says when, `GiveUp` that there is no use.
 */
export type Deliver<O extends OutboxDefinition> = (
  message: MessageOf<O>,
  delivery: Delivery,
) => unknown

/** An outbox as the worker sees it: a kind of job, and its handler. */
export interface Delivering {
  readonly kind: JobKind
  readonly handler: (message: unknown, run: Run) => Promise<void>
}

export function delivering(outbox: OutboxDefinition, deliver: unknown): Delivering {
  const { kind } = outboxSource(outbox)
  if (!isDeliver(deliver)) {
    throw new InvalidOptionError('deliver', deliver, `pass a function for outbox "${kind.name}"`)
  }
  return {
    kind,
    async handler(message, run) {
      await deliver(message, deliveryOf(run))
    },
  }
}

type AnyDeliver = (message: unknown, delivery: Delivery) => unknown

function isDeliver(deliver: unknown): deliver is AnyDeliver {
  return typeof deliver === 'function'
}

function deliveryOf(run: Run): Delivery {
  const { id, number, failures, signal, deadline } = run
  const key = stampedKey(stampedOn(run))
  return { id, key, number, failures, signal, deadline, note: (text) => run.note(text) }
}

function stampedKey(options: string | null): string | null {
  const stamped: unknown = options === null ? null : decodeJson(options)
  if (typeof stamped !== 'object' || stamped === null || !(STAMPED_KEY in stamped)) return null
  const { [STAMPED_KEY]: key } = stamped
  return typeof key === 'string' ? key : null
}
