import type { Client } from 'pg'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineHandlers, defineOutbox, typed } from '../../src/index.ts'
import type {
  Delivery,
  Handlers,
  HaltedKey,
  MessageIn,
  MessageOf,
  Mill,
  Sent,
  Transaction,
} from '../../src/index.ts'
import { defineOutbox as defineAtTheEdge } from '../../src/define.ts'

declare const mill: Mill
declare const client: Client
declare const tx: Transaction

const hooks = defineOutbox('hooks', {
  message: z.object({ order: z.number(), at: z.string().transform((text) => new Date(text)) }),
  key: ({ order, at }) => `${order.toFixed()} ${at.getTime()}`,
  onDead: 'halt',
  keep: { dead: 'forever' },
})

test('what goes in is the schema’s input, what is delivered its output', () => {
  expectTypeOf(hooks.name).toEqualTypeOf<'hooks'>()
  expectTypeOf<MessageIn<typeof hooks>>().toEqualTypeOf<{ order: number; at: string }>()
  expectTypeOf<MessageOf<typeof hooks>>().toEqualTypeOf<{ order: number; at: Date }>()
  expectTypeOf(defineAtTheEdge).toEqualTypeOf(defineOutbox)
  // @ts-expect-error a Date would come back as text
  defineOutbox('x', { message: typed<{ at: Date }>() })
  // @ts-expect-error an outbox has messages
  defineOutbox('x', {})
  // @ts-expect-error a key is a text
  defineOutbox('x', { message: typed<number>(), key: (n) => n })
  // @ts-expect-error there is no such policy
  defineOutbox('x', { message: typed<number>(), onDead: 'stop' })
  // @ts-expect-error messages are not merged
  defineOutbox('x', { message: typed<number>(), merge: 'keep' })
})

test('sending takes the message of the outbox, on the client and in transactions', () => {
  expectTypeOf(mill.send(hooks, { order: 1, at: '' })).resolves.toEqualTypeOf<Sent>()
  expectTypeOf(
    mill.in(client).send(hooks, { order: 1, at: '' }, { key: 'k', delay: '5s' }),
  ).resolves.toEqualTypeOf<Sent>()
  expectTypeOf(tx.send(hooks, { order: 1, at: '' })).resolves.toEqualTypeOf<Sent>()
  // @ts-expect-error not the message of this outbox
  void mill.send(hooks, { order: '1', at: '' })
  // @ts-expect-error there is no such option
  void mill.send(hooks, { order: 1, at: '' }, { priority: 'high' })
  // @ts-expect-error a name is no outbox
  void mill.send('hooks', { order: 1, at: '' })
  // @ts-expect-error an outbox is not enqueued
  void mill.enqueue(hooks, { order: 1, at: '' })
})

test('delivering gets the message and the delivery', () => {
  const handlers = defineHandlers().deliver(hooks, (message, delivery) => {
    expectTypeOf(message).toEqualTypeOf<{ order: number; at: Date }>()
    expectTypeOf(delivery).toEqualTypeOf<Delivery>()
    return fetch('http://localhost', { signal: delivery.signal })
  })
  expectTypeOf(handlers).toEqualTypeOf<Handlers<'hooks'>>()
  mill.worker().use(handlers)
  mill.worker().deliver(hooks, () => 7, { concurrency: 2 })
  expectTypeOf(mill.outboxes.halted(hooks)).resolves.toEqualTypeOf<readonly HaltedKey[]>()
  expectTypeOf(mill.outboxes.skip('hooks', 'k')).resolves.toEqualTypeOf<{
    readonly id: string
  } | null>()
  // @ts-expect-error not what this outbox delivers
  defineHandlers().deliver(hooks, (message: string) => message)
  // @ts-expect-error there is no such option
  defineHandlers().deliver(hooks, () => 7, { queue: 'x' })
})
