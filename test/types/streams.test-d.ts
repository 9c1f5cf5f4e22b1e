import type { Client } from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineStream, typed } from '../../src/index.ts'
import type { DataOf, EventIn, Mill, Published, StreamEvent, Transaction } from '../../src/index.ts'
import { defineStream as defineAtTheEdge } from '../../src/define.ts'

declare const mill: Mill
declare const client: Client
declare const sql: Sql

const orders = defineStream('orders', {
  data: z.object({ order: z.number(), at: z.string().transform((text) => new Date(text)) }),
})

test('what goes in is the schema’s input, what comes out its output', () => {
  expectTypeOf(orders.name).toEqualTypeOf<'orders'>()
  expectTypeOf<EventIn<typeof orders>>().toEqualTypeOf<{ order: number; at: string }>()
  expectTypeOf<DataOf<typeof orders>>().toEqualTypeOf<{ order: number; at: Date }>()
  expectTypeOf(defineAtTheEdge).toEqualTypeOf(defineStream)
  // @ts-expect-error a Date would come back as text
  defineStream('x', { data: typed<{ at: Date }>() })
  // @ts-expect-error a stream has data
  defineStream('x', {})
})

test('publishing takes the data of the stream, on the client and in a transaction', () => {
  expectTypeOf(mill.publish(orders, { order: 1, at: '' })).resolves.toEqualTypeOf<Published>()
  expectTypeOf(
    mill.in(client).publishMany(orders, [{ data: { order: 1, at: '' }, key: 'k' }]),
  ).resolves.toEqualTypeOf<readonly Published[]>()
  expectTypeOf(mill.in(client).saveOffset(orders, 'billing', 5)).resolves.toEqualTypeOf<void>()
  // @ts-expect-error not the data of this stream
  void mill.publish(orders, { order: '1', at: '' })
  // @ts-expect-error there is no such option
  void mill.publish(orders, { order: 1, at: '' }, { delay: '5s' })
  // @ts-expect-error a name is no stream
  void mill.publish('orders', { order: 1, at: '' })
  // @ts-expect-error offsets are numbers
  void mill.saveOffset(orders, 'billing', '5')
})

test('events are typed in loops, batches and reads', async () => {
  for await (const event of mill.subscribe(orders, { as: 'a', from: 'end', lease: '1m' })) {
    expectTypeOf(event).toEqualTypeOf<StreamEvent<{ order: number; at: Date }>>()
  }
  await mill.consume(orders, { as: 'a', limit: 10 }, async (events, tx) => {
    expectTypeOf(events).toEqualTypeOf<readonly StreamEvent<{ order: number; at: Date }>[]>()
    expectTypeOf(tx).toEqualTypeOf<Transaction>()
  })
  await mill.consume(orders, { as: 'a', transaction: sql }, async (_events, tx) => {
    expectTypeOf(tx).toEqualTypeOf<TransactionSql>()
  })
  expectTypeOf(mill.streams.read(orders, { after: 5 })).resolves.toEqualTypeOf<
    readonly StreamEvent<{ order: number; at: Date }>[]
  >()
  // @ts-expect-error a consumer has a name
  mill.subscribe(orders, {})
  // @ts-expect-error nor is this a place
  mill.subscribe(orders, { as: 'a', from: 'begin' })
  // @ts-expect-error one by one there is no limit
  mill.subscribe(orders, { as: 'a', limit: 5 })
  // @ts-expect-error a bare number is an offset, an age has its unit
  void mill.streams.trim(orders, { before: { days: 5 } })
})

test('a run publishes in its transaction', () => {
  expectTypeOf<Transaction['publish']>().toEqualTypeOf<Mill['publish']>()
})
