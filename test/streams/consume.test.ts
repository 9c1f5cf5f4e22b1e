import postgres from 'postgres'
import { expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import type { Transaction } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { setup } from '../support/mill.ts'
import { projection } from '../support/projection.ts'
import { startPglite } from '../support/pglite.ts'
import { numbered, orders, range, savedOffset, takeUntil } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('T5: batches come in order, and the offset moves with their effects', async () => {
  await using bench = await setup()
  const { mill } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 25))
  const stop = new AbortController()
  const sizes: number[] = []
  const consuming = mill.consume(
    orders,
    { as: 'a', limit: 10, signal: stop.signal },
    async (events, tx) => {
      sizes.push(events.length)
      await seen.write(tx, events, 'a')
      if (events.at(-1)?.data.n === 30) stop.abort()
    },
  )
  await until(async () => (await seen.events()).length === 25)
  await mill.publishMany(orders, numbered(26, 30))
  await consuming
  expect(await seen.events()).toEqual(range(1, 30))
  expect(sizes).toEqual([10, 10, 5, 5])
  expect(await mill.streams.consumers(orders)).toEqual([
    { as: 'a', offset: 30, lag: 0, holder: null },
  ])
})

test('T5: what fn throws rolls back and rejects; the same batch comes again', async () => {
  await using bench = await setup()
  const { mill } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 5))
  const failing = mill.consume(orders, { as: 'a' }, async (events, tx) => {
    await seen.write(tx, events, 'a')
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await seen.events()).toEqual([])
  const stop = new AbortController()
  await mill.consume(orders, { as: 'a', signal: stop.signal }, async (events, tx) => {
    await seen.write(tx, events, 'a')
    stop.abort()
  })
  expect(await seen.events()).toEqual(range(1, 5))
})

test('T5: a transaction of the caller’s own library moves the offset with its own writes', async () => {
  await using bench = await setup()
  const { mill, url } = bench
  const seen = await projection(bench)
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  try {
    await mill.publishMany(orders, numbered(1, 12))
    const stop = new AbortController()
    const options = { as: 'a', limit: 5, signal: stop.signal, transaction: sql }
    await mill.consume(orders, options, async (events, tx) => {
      for (const { data } of events) await tx.unsafe(seen.insert, [data.n, 'a'])
      if (events.at(-1)?.data.n === 12) stop.abort()
    })
    expect(await seen.events()).toEqual(range(1, 12))
    expect(await savedOffset(mill, 'a')).toBe(12)
  } finally {
    await sql.end()
  }
})

test.each([
  ['with the same tables', 'auto'],
  ['without any', null],
] as const)(
  'T5: a transaction on another database, %s, is refused and nothing is saved',
  async (_what, migrate) => {
    await using bench = await setup()
    const { mill, schema } = bench
    await mill.publish(orders, { n: 1 })
    const elsewhere = await startPglite()
    if (migrate !== null) await (await open(elsewhere, { schema, migrate, logger: false })).close()
    const consuming = mill.consume(
      orders,
      { as: 'a', transaction: elsewhere },
      async () => undefined,
    )
    await expect(consuming).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'transaction' })
    expect(await savedOffset(mill, 'a')).toBe(0)
    await elsewhere.close()
  },
)

test('T5: closing the client lets the batch under way end', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 2))
  using batch = gate()
  const consuming = mill.consume(orders, { as: 'a' }, async (events, tx) => {
    await seen.write(tx, events, 'a')
    await batch.enter('written')
    await tx.publish(orders, { n: 3 })
  })
  await until(() => batch.now === 1)
  const closing = mill.close()
  batch.open()
  await Promise.all([closing, consuming])
  expect(await seen.events()).toEqual([1, 2])
  expect((await sql.query('select saved_offset::int as at, holder from consumers')).rows).toEqual([
    { at: 2, holder: null },
  ])
  await expect(mill.consume(orders, { as: 'a' }, async () => undefined)).rejects.toThrow('closed')
})

test('T5: a batch ends before an event that does not parse, which is then the error', async () => {
  await using bench = await setup()
  const { mill } = bench
  const seen = await projection(bench)
  const { z } = await import('zod')
  const { defineStream } = await import('../../src/index.ts')
  const strict = defineStream('orders', { data: z.object({ n: z.number().max(2) }) })
  await mill.publishMany(orders, [...numbered(1, 3), { data: { n: 1 } }])
  const work = (events: readonly { data: { n: number } }[], tx: Transaction): Promise<void> =>
    seen.write(tx, events, 'a')
  await expect(mill.consume(strict, { as: 'a' }, work)).rejects.toMatchObject({ offset: 3 })
  expect(await seen.events()).toEqual([1, 2])
  const stop = new AbortController()
  await mill.consume(
    strict,
    { as: 'a', onInvalid: 'skip', signal: stop.signal },
    async (events, tx) => {
      await work(events, tx)
      stop.abort()
    },
  )
  expect(await seen.events()).toEqual([1, 2, 1])
  expect(await savedOffset(mill, 'a')).toBe(4)
})

test('T5: on an embedded database too', async () => {
  const database = await startPglite()
  const mill = await open(database, { migrate: 'auto', logger: false })
  try {
    await database.exec('create table seen (event int)')
    await mill.publishMany(orders, numbered(1, 30))
    const stop = new AbortController()
    await mill.consume(orders, { as: 'a', limit: 20, signal: stop.signal }, async (events, tx) => {
      for (const { data } of events) await tx.query('insert into seen values ($1)', [data.n])
      if (events.at(-1)?.data.n === 30) stop.abort()
    })
    await mill.publish(orders, { n: 31 })
    const again = new AbortController()
    await mill.consume(
      orders,
      { as: 'a', transaction: database, signal: again.signal },
      async (events, tx) => {
        for (const { data } of events) await tx.query('insert into seen values ($1)', [data.n])
        again.abort()
      },
    )
    const { rows } = await database.query<{ event: number }>(
      'select event from seen order by event',
    )
    expect(rows.map(({ event }) => event)).toEqual(range(1, 31))
    const taking = takeUntil(mill.subscribe(orders, { as: 'b', from: 31 }), 33)
    await database.transaction(async (tx) => {
      await mill.in(tx).publishMany(orders, numbered(32, 33))
    })
    expect((await taking).map(({ offset }) => offset)).toEqual([31, 32, 33])
  } finally {
    await mill.close()
    await database.close()
  }
})
