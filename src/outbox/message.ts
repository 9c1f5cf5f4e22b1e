import type { OutboxDefinition, SendOptions } from '../core/message-producer.ts'
import { checkKey, checkOptions } from '../core/names.ts'
import type { Ask } from '../jobs/ask.ts'
import { prepareAsk } from '../jobs/ask.ts'
import { askRow } from '../jobs/ask-row.ts'
import type { KnownDefaults } from '../jobs/queue-defaults.ts'
import { outboxSource } from './outbox.ts'
import type { MessageRow } from './send-statements.ts'

/** A message that is checked: its ask, and what its outbox says beside. */
export interface Message {
  readonly ask: Ask
  /** Null: a plain job, in no line. */
  readonly key: string | null
  readonly halts: boolean
}

export interface MessageContext {
  readonly now: number
  readonly maxPayload: number
  readonly queues: KnownDefaults
}

/** Checks a call of `send`, all of it before any I/O; at once where the schema is synchronous. */
export function prepareMessage(
  outbox: OutboxDefinition,
  given: { readonly message: unknown; readonly options: SendOptions },
  context: MessageContext,
): Message | Promise<Message> {
  const { kind, halts } = outboxSource(outbox)
  checkOptions('send()', given.options, ['key', 'delay'])
  const { key, delay } = given.options
  if (key !== undefined) checkKey('key', key)
  const ask = prepareAsk(kind, given.message, { ...context, options: { dedup: key, delay } })
  return ask instanceof Promise ? ask.then(message) : message(ask)

  function message(prepared: Ask): Message {
    return { ask: prepared, key: prepared.keyed?.key ?? null, halts }
  }
}

export type KeyedMessage = Message & { readonly key: string }

export function isKeyed(message: Message): message is KeyedMessage {
  return message.key !== null
}

/** Messages as the statement takes them, in the order of their sending. */
export function messageRows(messages: readonly KeyedMessage[]): string {
  return JSON.stringify(
    messages.map(({ ask, key, halts }, nth): MessageRow => ({
      ...askRow(ask),
      options: withKey(ask.policyText, key),
      nth,
      key,
      halts,
    })),
  )
}

/** What is stamped beside the policy: a claim brings it to whoever delivers. */
export const STAMPED_KEY = 'key'

// Two JSON objects in one, without reading the first again.
function withKey(policyText: string | null, key: string): string {
  const own = JSON.stringify({ [STAMPED_KEY]: key })
  return policyText === null ? own : `${policyText.slice(0, -1)},${own.slice(1)}`
}
