import type { MessageProducer, OutboxDefinition, Sent } from '../core/message-producer.ts'
import { batcher } from '../database/batcher.ts'
import type { Executor, Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import type { Enqueuer } from '../jobs/enqueue.ts'
import { bytesOf, untilOutlasted } from '../jobs/insert.ts'
import type { KnownDefaults } from '../jobs/queue-defaults.ts'
import { isKeyed, messageRows, prepareMessage } from './message.ts'
import type { KeyedMessage, Message } from './message.ts'
import { sendMessages } from './send-statements.ts'

/**
 * Sends messages. Those without a key are plain jobs, enqueued as such. Those with one are written
 * with their place to be in the line; alone, calls that come while a statement is in flight go
 * together in the next one, in the order of the calls. A statement whose answer was lost is simply
 * sent again: an id that is there already is left alone.
 */
export interface Sender {
  readonly own: MessageProducer
  /** The same verb on the caller's transaction; `inside` gives each call its turn there. */
  on(inside: Inside): MessageProducer
  /** Resolves when everything sent so far is answered. */
  idle(): Promise<void>
}

export type Inside = <R>(work: (runner: Runner) => Promise<R>) => Promise<R>

export interface SenderOptions {
  readonly executor: Executor
  readonly enqueuer: Enqueuer
  readonly queues: KnownDefaults
  readonly maxPayload: number
  readonly hintUntil: () => string
}

export function sender(options: SenderOptions): Sender {
  const { executor, enqueuer, queues, maxPayload, hintUntil } = options
  const { clock, events } = executor
  const lane = executor.lane('send')
  const batches = batcher<KeyedMessage, null>({
    flush,
    bytes: ({ ask, key }) => bytesOf(ask) + 2 * key.length,
  })

  async function flush(messages: readonly KeyedMessage[]): Promise<readonly null[]> {
    await repeat({ clock, until: untilOutlasted(clock) }, async () => {
      await lane.ready()
      await write(lane, messages)
    })
    return messages.map(() => null)
  }

  async function write(runner: Runner, messages: readonly KeyedMessage[]): Promise<void> {
    await runner.run(sendMessages, { messages: messageRows(messages), hint_until: hintUntil() })
  }

  function tell({ ask: { id, kind, queue } }: Message, inTransaction: boolean): Sent {
    events.tell('created', { id, kind, queue, inTransaction })
    return { id }
  }

  async function sendOwn(message: Message): Promise<Sent> {
    if (!isKeyed(message)) return { id: (await enqueuer.enqueue(message.ask)).id }
    await batches.add(message)
    return tell(message, false)
  }

  async function sendOn(runner: Runner, message: Message): Promise<Sent> {
    if (!isKeyed(message)) return { id: (await enqueuer.enqueueOn(runner, message.ask)).id }
    await write(runner, [message])
    return tell(message, true)
  }

  function verb(sendOne: (message: Message) => Promise<Sent>): MessageProducer {
    return {
      async send(outbox: OutboxDefinition, message, given = {}) {
        const context = { now: clock.now(), maxPayload, queues }
        const prepared = prepareMessage(outbox, { message, options: given }, context)
        // Not awaited where it is there already: calls of one turn leave together, in their order.
        return sendOne(prepared instanceof Promise ? await prepared : prepared)
      },
    }
  }

  return {
    own: verb(sendOwn),
    on: (inside) => verb((message) => inside((runner) => sendOn(runner, message))),
    idle: batches.idle,
  }
}
