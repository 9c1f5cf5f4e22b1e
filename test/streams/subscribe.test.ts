import { expect, test } from 'vitest'
import { databaseOfFile, manualSetup, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { numbered, orders, range, savedOffset, takeUntil } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('T3: asking for the next event acknowledges the last, leaving the loop does not', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 5))
  await takeUntil(mill.subscribe(orders, { as: 'a' }), 3)
  expect(await savedOffset(mill, 'a')).toBe(2)
  const again = await takeUntil(mill.subscribe(orders, { as: 'a' }), 5)
  expect(again.map(({ offset }) => offset)).toEqual([3, 4, 5])
  expect(await savedOffset(mill, 'a')).toBe(4)
})

test('T3: a loop that throws does not acknowledge the event it threw at, and frees the name', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 3))
  const loop = async (): Promise<void> => {
    for await (const { data } of mill.subscribe(orders, { as: 'a' })) {
      if (data.n === 2) throw new Error('no')
    }
  }
  await expect(loop()).rejects.toThrow('no')
  expect(await mill.streams.consumers(orders)).toEqual([
    { as: 'a', offset: 1, lag: 2, holder: null },
  ])
})

test('T3: what was acknowledged is saved within 100 ms, the newest only', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  await mill.publishMany(orders, numbered(1, 500))
  await sql.query('create table saves (saved bigint)')
  await sql.query(`create function note() returns trigger language plpgsql as
    'begin insert into ${bench.schema}.saves values (new.saved_offset); return new; end'`)
  await sql.query(
    `create trigger note after update on consumers for each row
     when (new.saved_offset is distinct from old.saved_offset) execute function note()`,
  )
  await using events = mill.subscribe(orders, { as: 'a' })
  const next = events[Symbol.asyncIterator]()
  for (let count = 0; count < 401; count += 1) await next.next()
  expect(await savedOffset(mill, 'a')).toBe(0)
  await until(async () => {
    clock.advance(100)
    return (await savedOffset(mill, 'a')) === 400
  })
  expect((await sql.query('select saved::int from saves')).rows).toEqual([{ saved: 400 }])
})

test('T3: events come in the order of their offsets while they are published, and none is missed', async () => {
  await using bench = await setup()
  const { mill } = bench
  const taking = takeUntil(mill.subscribe(orders, { as: 'a' }), 3_000)
  for (let n = 1; n <= 3_000; n += 100) await mill.publishMany(orders, numbered(n, n + 99))
  const taken = await taking
  expect(taken.map(({ offset }) => offset)).toEqual(range(1, 3_000))
  expect(taken.map(({ data }) => data.n)).toEqual(range(1, 3_000))
})

test('T3: no more is read ahead than two batches, however long the loop takes', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await mill.publishMany(orders, numbered(1, 9_000))
  await mill.streams.read(orders, { limit: 1 })
  await using events = mill.subscribe(orders, { as: 'a' })
  const next = events[Symbol.asyncIterator]()
  for (let count = 0; count < 150; count += 1) await next.next()
  // A first batch of 100, then two of 1 000: what is behind is gone when it is asked for.
  await until(async () => {
    const { rows } = await sql.query(
      `select from pg_stat_activity
       where datname = current_database() and state = 'active' and query like '%events e%'`,
    )
    return rows.length === 1
  })
  await sql.query('delete from events where event_offset > 2100 and event_offset < 9000')
  const rest = async (): Promise<void> => {
    for (;;) await next.next()
  }
  await expect(rest()).rejects.toMatchObject({ code: 'EVENTS_TRIMMED', from: 2_101, to: 8_999 })
})

test('T3: a signal ends the loop after the event in hand, which is then acknowledged', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 5))
  const stop = new AbortController()
  const taken: number[] = []
  for await (const { data } of mill.subscribe(orders, { as: 'a', signal: stop.signal })) {
    taken.push(data.n)
    if (data.n === 2) stop.abort()
  }
  expect(taken).toEqual([1, 2])
  expect(await savedOffset(mill, 'a')).toBe(2)
})

test('T3: a loop that waits for events ends when the subscription, or the client, is closed', async () => {
  await using bench = await setup()
  const { mill } = bench
  const subscription = mill.subscribe(orders, { as: 'a' })
  const first = takeUntil(subscription, 1)
  const second = takeUntil(mill.subscribe(orders, { as: 'b' }), 1)
  await until(async () => (await mill.streams.consumers(orders)).length === 2)
  await subscription.close()
  expect(await first).toEqual([])
  await mill.close()
  expect(await second).toEqual([])
  expect((await bench.sql.query('select from consumers where holder is not null')).rows).toEqual([])
  expect(() => mill.subscribe(orders, { as: 'a' })).toThrow('closed')
})

test('T3: closing a subscription that nobody iterated takes nothing, and twice is once', async () => {
  await using bench = await setup()
  const { mill } = bench
  const subscription = mill.subscribe(orders, { as: 'a' })
  await Promise.all([subscription.close(), subscription.close()])
  expect(await mill.streams.consumers(orders)).toEqual([])
})

test.each([
  ['start', [1, 2, 3, 4]],
  ['saved', [1, 2, 3, 4]],
  [3, [3, 4]],
  ['end', [4]],
] as const)(
  'T3: a new consumer from %j begins there, and is there again later',
  async (from, seen) => {
    await using bench = await setup()
    const { mill } = bench
    await mill.publishMany(orders, numbered(1, 3))
    const stop = new AbortController()
    const first = mill.subscribe(orders, { as: 'a', from, signal: stop.signal })
    const none = first[Symbol.asyncIterator]().next()
    await until(async () => {
      const { rows } = await bench.sql.query(
        'select saved_offset from consumers where holder is not null',
      )
      return (
        rows.length > 0 &&
        (typeof from === 'string' && from !== 'end' ? true : rows[0]?.['saved_offset'] !== null)
      )
    })
    stop.abort()
    await none
    await first.close()
    await mill.publish(orders, { n: 4 })
    const taken = await takeUntil(mill.subscribe(orders, { as: 'a', from }), 4)
    expect(taken.map(({ data }) => data.n)).toEqual(seen)
  },
)

test('T3: a new consumer from an instant begins with the first event published then or later', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  await mill.publishMany(orders, numbered(1, 3))
  clock.advance(1_000)
  const since = new Date(clock.now())
  await mill.publishMany(orders, numbered(4, 5))
  const taken = await takeUntil(mill.subscribe(orders, { as: 'a', from: since }), 5)
  expect(taken.map(({ data }) => data.n)).toEqual([4, 5])
})

test('T3: consumers of different names each see everything', async () => {
  await using bench = await setup()
  const { mill } = bench
  const names = ['a', 'A', 'a ', ' a']
  const taking = names.map((as) => takeUntil(mill.subscribe(orders, { as }), 50))
  await mill.publishMany(orders, numbered(1, 50))
  for (const taken of await Promise.all(taking)) {
    expect(taken.map(({ offset }) => offset)).toEqual(range(1, 50))
  }
  expect((await mill.streams.consumers(orders)).map(({ as }) => as)).toEqual([' a', 'A', 'a', 'a '])
})

test('T3: without hints a poll finds what was published', async () => {
  await using bench = await setup({ wake: 'poll' })
  const { mill } = bench
  const taking = takeUntil(mill.subscribe(orders, { as: 'a' }), 1)
  await until(async () => (await mill.streams.consumers(orders)).length === 1)
  await mill.publish(orders, { n: 1 })
  expect(await taking).toHaveLength(1)
})

test('T1, trap 8: an event that does not parse is an error with its offset, or is passed over', async () => {
  await using bench = await setup()
  const { mill } = bench
  const { z } = await import('zod')
  const { defineStream } = await import('../../src/index.ts')
  const strict = defineStream('orders', { data: z.object({ n: z.number().max(2) }) })
  await mill.publishMany(orders, [...numbered(1, 3), { data: { n: 1 } }])
  const all: number[] = []
  const loop = async (onInvalid?: 'skip'): Promise<void> => {
    for await (const { offset } of mill.subscribe(strict, { as: 'a', onInvalid })) {
      all.push(offset)
      if (offset === 4) break
    }
  }
  await expect(loop()).rejects.toMatchObject({ code: 'INVALID_EVENT', offset: 3, stream: 'orders' })
  expect(all).toEqual([1, 2])
  expect(await savedOffset(mill, 'a')).toBe(2)
  await loop('skip')
  expect(all).toEqual([1, 2, 4])
  expect(await savedOffset(mill, 'a')).toBe(3)
  await expect(mill.streams.read(strict)).rejects.toMatchObject({ offset: 3 })
  expect(await mill.streams.read(strict, { onInvalid: 'skip' })).toHaveLength(3)
})

test('T3: a loop outlives its connections: nothing is missed, and it goes on by itself', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  await using other = await setup({ schema: bench.schema })
  const taken: number[] = []
  const taking = (async () => {
    for await (const { offset } of bench.mill.subscribe(orders, { as: 'a' })) {
      taken.push(offset)
      if (offset === 300) break
    }
  })()
  for (let n = 1; n <= 300; n += 50) {
    await other.mill.publishMany(orders, numbered(n, n + 49))
    await until(() => taken.length >= n)
    proxy.reset()
  }
  await taking
  expect(taken).toEqual(range(1, 300))
})
