import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineStream, InvalidInputError, PayloadTooLargeError, typed } from '../../src/index.ts'
import { databaseOfFile, manualSetup, NOON, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { numbered, orders, range } from '../support/streams.ts'
import { until } from '../support/until.ts'

const anything = defineStream('anything', { data: typed<unknown>() })

test('T1: an event comes back with its offset, id, key, data and instant', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  const published = await mill.publish(orders, { n: 7 }, { key: 'order-7' })
  expect(await mill.streams.offset(orders, published)).toBe(1)
  expect(await mill.streams.read(orders)).toEqual([
    { offset: 1, id: published.id, key: 'order-7', data: { n: 7 }, publishedAt: new Date(NOON) },
  ])
})

test('T1: events of one publishMany keep their order, over several statements and all or nothing', async () => {
  await using bench = await setup()
  const { mill } = bench
  const published = await mill.publishMany(orders, numbered(1, 12_345))
  expect(published).toHaveLength(12_345)
  const read = await mill.streams.read(orders, { after: 4_990, limit: 20 })
  expect(read.map(({ data }) => data.n)).toEqual(range(4_991, 5_010))
  expect(read.map(({ id }) => id)).toEqual(published.slice(4_990, 5_010).map(({ id }) => id))

  const bad = (async function* () {
    yield* numbered(1, 6_000)
    throw new Error('the source dried up')
  })()
  await expect(mill.publishMany(orders, bad)).rejects.toThrow('the source dried up')
  expect(await mill.streams.list()).toMatchObject([{ head: 12_345, waiting: 0 }])
})

test('T1: calls of one turn leave in their order, together', async () => {
  await using bench = await setup()
  const { mill } = bench
  await Promise.all(range(1, 200).map((n) => mill.publish(orders, { n })))
  const read = await mill.streams.read(orders, { limit: 200 })
  expect(read.map(({ data }) => data.n)).toEqual(range(1, 200))
})

test('T1: the same id again in the same stream is the same event, in another stream another', async () => {
  await using bench = await setup()
  const { mill } = bench
  const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  await mill.publishMany(orders, [
    { data: { n: 1 }, id },
    { data: { n: 2 }, id },
  ])
  await mill.publish(orders, { n: 3 })
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([1, 3])
  await mill.publish(orders, { n: 4 }, { id })
  await mill.publish(anything, 'x', { id })
  await mill.publish(orders, { n: 5 })
  const read = await mill.streams.read(orders)
  expect(read.map(({ data, offset }) => [offset, data.n])).toEqual([
    [1, 1],
    [2, 3],
    [3, 5],
  ])
  expect(await mill.streams.read(anything)).toMatchObject([{ id, offset: 1 }])
})

test('T1: in a transaction the commit decides; a rollback and a rolled-back savepoint publish nothing', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await sql.query('begin')
  await mill.in(sql).publish(orders, { n: 1 })
  await sql.query('savepoint s')
  await mill.in(sql).publishMany(orders, numbered(2, 3))
  await sql.query('rollback to s')
  await mill.in(sql).publish(anything, 'x')
  expect(await mill.streams.read(orders)).toEqual([])
  await sql.query('commit')
  await sql.query('begin')
  await mill.in(sql).publish(orders, { n: 4 })
  await sql.query('rollback')
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([1])
  expect(await mill.streams.read(anything)).toHaveLength(1)
})

test('T1: a run publishes in its transaction, together with its completion', async () => {
  await using bench = await setup()
  const { mill } = bench
  const { defineJob } = await import('../../src/index.ts')
  const tell = defineJob('tell', { input: typed<number>() })
  await using worker = mill.worker().handle(tell, (n, run) =>
    run.transaction(async (tx) => {
      await tx.publish(orders, { n })
    }),
  )
  const { id } = await mill.enqueue(tell, 5)
  await worker.start()
  await mill.jobs.wait(id)
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([5])
})

test('E6: what does not pass the schema, or JSON, is refused before anything is written', async () => {
  await using bench = await setup({ maxPayload: 100 })
  const { mill, sql } = bench
  const strict = defineStream('strict', { data: z.object({ n: z.number().positive() }) })
  const mistakes = [
    mill.publish(strict, { n: -1 }),
    mill.publishMany(strict, [{ data: { n: 1 } }, { data: { n: -1 } }]),
    mill.publish(anything, { a: [1, Number.NaN] }),
  ]
  for (const result of await Promise.allSettled(mistakes)) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(InvalidInputError) })
  }
  await expect(mill.publish(anything, 'x'.repeat(200))).rejects.toThrow(PayloadTooLargeError)
  expect((await sql.query('select from event_inbox')).rows).toEqual([])
})

test('T1: data comes back as the exact text that was stored, parsed by the schema of the reader', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const odd = { b: 1, a: 'x\u0000y', 'key "q"': [null, true, 1e21], lone: '\ud800' }
  await mill.publish(anything, odd, { key: ' K ' })
  const [event] = await mill.streams.read(anything)
  expect(event?.data).toEqual(odd)
  expect(event?.key).toBe(' K ')
  const { rows } = await sql.query('select data::text as data from events')
  expect(rows).toEqual([{ data: JSON.stringify(odd) }])
  const dates = defineStream('anything', { data: z.object({ b: z.coerce.string() }) })
  expect((await mill.streams.read(dates))[0]?.data).toEqual({ b: '1' })
})

test('M8: a publish whose answer was lost is sent again, and there once', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql } = bench
  await mill.publish(orders, { n: 1 })
  const lost = proxy.loseAnswer('publish_events')
  await mill.publish(orders, { n: 2 })
  await lost
  expect((await sql.query('select from event_inbox')).rows).toHaveLength(3)
  await until(async () => (await mill.streams.read(orders)).length === 2)
  await mill.publish(orders, { n: 3 })
  expect((await mill.streams.read(orders)).map(({ data, offset }) => [offset, data.n])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
  ])
})
