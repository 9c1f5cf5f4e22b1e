import { expect, test } from 'vitest'
import { waiting } from '../support/blocked.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { numbered, orders, range, takeUntil } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('races 28, T6: everything trimmed and then published: offsets go on, and the last event stays until then', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 5))
  await mill.streams.read(orders)
  expect(await mill.streams.trim(orders, { before: 6 })).toEqual({ removed: 4 })
  expect(await mill.streams.list()).toEqual([{ stream: 'orders', head: 5, events: 1, waiting: 0 }])
  await mill.publish(orders, { n: 6 })
  expect((await mill.streams.read(orders)).map(({ offset }) => offset)).toEqual([5, 6])
  expect(await mill.streams.trim(orders, { before: 6 })).toEqual({ removed: 1 })
  expect(await mill.streams.trim(orders, { before: 6 })).toEqual({ removed: 0 })
})

test('T6: a trim removes in batches, however many there are', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 25_000))
  await mill.streams.read(orders, { limit: 1 })
  expect(await mill.streams.trim(orders, { before: 24_999 })).toEqual({ removed: 24_998 })
  expect((await mill.streams.read(orders)).map(({ offset }) => offset)).toEqual([24_999, 25_000])
})

test('T6: by age only the front goes, up to the first event that is young enough', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  await mill.publishMany(orders, numbered(1, 2))
  await sql.query('begin')
  await mill.in(sql).publish(orders, { n: 4 })
  clock.advance(10_000)
  await mill.publish(orders, { n: 3 })
  await mill.streams.read(orders)
  await sql.query('commit')
  await mill.publish(orders, { n: 5 })
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([1, 2, 3, 4, 5])
  // Event 4 was published with the first two; it stands behind a younger one and stays.
  expect(await mill.streams.trim(orders, { before: '5s' })).toEqual({ removed: 2 })
  expect(await mill.streams.trim(orders, { before: new Date(clock.now() + 1) })).toEqual({
    removed: 2,
  })
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([5])
})

test('T6: a reader below what was trimmed is told what it missed, or skips it', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 9))
  await takeUntil(mill.subscribe(orders, { as: 'a' }), 3)
  await mill.streams.trim(orders, { before: 7 })
  const missed = { code: 'EVENTS_TRIMMED', from: 3, to: 6, stream: 'orders' }
  await expect(takeUntil(mill.subscribe(orders, { as: 'a' }), 9)).rejects.toMatchObject(missed)
  await expect(mill.streams.read(orders, { after: 2 })).rejects.toMatchObject(missed)
  await expect(mill.streams.read(orders, { after: 2, key: 'k' })).rejects.toMatchObject(missed)
  const skipped = await mill.streams.read(orders, { after: 2, onTrimmed: 'skip' })
  expect(skipped.map(({ offset }) => offset)).toEqual([7, 8, 9])
  const taken = await takeUntil(mill.subscribe(orders, { as: 'a', onTrimmed: 'skip' }), 9)
  expect(taken.map(({ offset }) => offset)).toEqual([7, 8, 9])
})

test('T6: a consumer that never saved anything begins with the first event there is', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 9))
  await mill.streams.read(orders)
  await mill.streams.trim(orders, { before: 7 })
  const taken = await takeUntil(mill.subscribe(orders, { as: 'a' }), 9)
  expect(taken.map(({ offset }) => offset)).toEqual([7, 8, 9])
  expect((await mill.streams.read(orders)).map(({ offset }) => offset)).toEqual([7, 8, 9])
})

test('T6: the lag counts what is still to be read: what was trimmed is not, what has no offset yet is', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 10))
  await mill.streams.read(orders)
  await mill.streams.save(orders, 'a', 8)
  await mill.streams.save(orders, 'b', 1)
  await mill.streams.trim(orders, { before: 5 })
  await mill.publishMany(orders, numbered(11, 13))
  expect(await mill.streams.consumers(orders)).toEqual([
    { as: 'a', offset: 8, lag: 5, holder: null },
    { as: 'b', offset: 1, lag: 9, holder: null },
  ])
})

test('T3: an offset is saved by hand, forward only, also in a transaction', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await mill.publishMany(orders, numbered(1, 10))
  await mill.streams.read(orders)
  expect(await mill.streams.save(orders, 'a', 3)).toBe(true)
  expect(await mill.streams.save(orders, 'a', 3)).toBe(false)
  expect(await mill.streams.save(orders, 'a', 2)).toBe(false)
  await mill.saveOffset(orders, 'a', 4)
  await sql.query('begin')
  await mill.in(sql).saveOffset(orders, 'a', 7)
  expect(await mill.streams.consumers(orders)).toMatchObject([{ offset: 4 }])
  await sql.query('commit')
  expect(await mill.streams.consumers(orders)).toMatchObject([{ offset: 7 }])
  const taken = await takeUntil(mill.subscribe(orders, { as: 'a' }), 10)
  expect(taken.map(({ offset }) => offset)).toEqual(range(8, 10))
})

test('M7: an application’s open transaction that saved an offset keeps no holder from its lease', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, session } = bench
  await mill.publishMany(orders, numbered(1, 10))
  const events = mill.subscribe(orders, { as: 'a', lease: '3s' })[Symbol.asyncIterator]()
  await events.next()
  await sql.query('begin')
  await mill.in(sql).saveOffset(orders, 'a', 1)
  const other = await session()
  await events.next()
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000)
    await until(async () => (await waiting(other)) === 0)
  }
  await sql.query('commit')
  await until(async () => {
    clock.advance(200)
    return (await mill.streams.consumers(orders))[0]?.holder !== null
  })
  expect(await events.next()).toMatchObject({ value: { offset: 3 } })
})
