import { expect, test } from 'vitest'
import { untilBlocked } from '../support/blocked.ts'
import { databaseOfFile, manualSetup, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { numbered, orders, publishOn, range } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('races 25, T2: an event that was placed first and committed last is read, after those that were read before it', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await sql.query('begin')
  await publishOn(mill, sql, 1)
  await mill.publish(orders, { n: 2 })
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([2])
  await sql.query('commit')
  await mill.publish(orders, { n: 3 })
  const read = await mill.streams.read(orders)
  expect(read.map(({ offset }) => offset)).toEqual([1, 2, 3])
  expect(read.map(({ data }) => data.n)).toEqual([2, 1, 3])
})

test('races 25: an event that was committed long after the mark went past its place is found by a look', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  await sql.query('begin')
  await publishOn(mill, sql, 0)
  for (const n of range(1, 4)) {
    clock.advance(300)
    await mill.publish(orders, { n })
    await mill.streams.read(orders)
  }
  await sql.query('commit')
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([1, 2, 3, 4, 0])
})

test('races 26: a session that is killed while it gives offsets leaves nothing behind, and others go on at once', async () => {
  await using bench = await setup()
  const { mill, sql, session } = bench
  await mill.publish(orders, { n: 1 })
  await mill.streams.read(orders)
  const stuck = await bench.session()
  await stuck.query('begin')
  await stuck.query(`select from sequence_events('orders', 0, 10, now(), false)`)
  await mill.publish(orders, { n: 2 })
  await stuck.query(`select from sequence_events('orders', 0, 10, now(), false)`)
  const { rows } = await stuck.query<{ pid: number }>('select pg_backend_pid() as pid')
  // Whoever holds the row is skipped, and asked again; nothing waits in the database.
  const offset = mill.streams.offset(orders, await mill.publish(orders, { n: 3 }))
  await sql.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  expect(await offset).toBe(3)
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([1, 2, 3])
  expect(session).toBeTypeOf('function')
})

test('races 26: a process that stops right after it asked for offsets holds up nobody', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup()
  await using stopped = await setup({ schema: bench.schema, database: proxy.url })
  await stopped.mill.publish(orders, { n: 1 })
  await stopped.mill.streams.read(orders)
  await bench.mill.publish(orders, { n: 2 })
  proxy.freeze()
  const never = stopped.mill.streams.read(orders).catch(() => undefined)
  const { mill } = bench
  const published = await mill.publish(orders, { n: 3 })
  expect(await mill.streams.offset(orders, published)).toBe(3)
  proxy.thaw()
  proxy.reset()
  await never
})

test('races 27: the first publisher of a stream stays open, and the second is not blocked', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await sql.query('begin')
  await publishOn(mill, sql, 1)
  const second = await mill.publish(orders, { n: 2 })
  expect(await mill.streams.offset(orders, second)).toBe(1)
  await sql.query('commit')
  expect((await mill.streams.read(orders)).map(({ data }) => data.n)).toEqual([2, 1])
})

test('T2: two sessions that give the first offsets of a stream at once never give one twice', async () => {
  await using bench = await setup()
  const { mill, sql, session } = bench
  await mill.publishMany(orders, numbered(1, 10))
  const other = await session()
  await sql.query('begin')
  const sequence = `select moved, skipped from sequence_events('orders', 0, 5, now(), false)`
  expect((await sql.query(sequence)).rows).toEqual([{ moved: 5, skipped: false }])
  const waiting = other.query(sequence)
  await untilBlocked(sql)
  await sql.query('commit')
  expect((await waiting).rows).toEqual([{ moved: 0, skipped: true }])
  expect((await other.query(sequence)).rows).toEqual([{ moved: 5, skipped: false }])
  expect((await mill.streams.read(orders)).map(({ offset }) => offset)).toEqual(range(1, 10))
})

test('T2: a stream whose row is locked is skipped without a wait', async () => {
  await using bench = await setup()
  const { mill, sql, session } = bench
  await mill.publish(orders, { n: 1 })
  await mill.streams.read(orders)
  await mill.publish(orders, { n: 2 })
  const other = await session()
  await sql.query('begin')
  const sequence = `select moved, skipped from sequence_events('orders', 0, 5, now(), false)`
  await sql.query(sequence)
  expect((await other.query(sequence)).rows).toEqual([{ moved: 0, skipped: true }])
  await sql.query('rollback')
  expect((await other.query(sequence)).rows).toEqual([{ moved: 1, skipped: false }])
})

test('T2: while nothing waits a pass takes no lock and no transaction id', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await mill.publish(orders, { n: 1 })
  await mill.streams.read(orders)
  await sql.query('begin')
  await sql.query(`select from sequence_events('orders', 0, 5, now(), false)`)
  const { rows } = await sql.query('select pg_current_xact_id_if_assigned()::text as id')
  expect(rows).toEqual([{ id: null }])
  await sql.query('rollback')
})

test('T2: an idle transaction that holds a transaction id delays nothing', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await sql.query('begin')
  await sql.query('select pg_current_xact_id()')
  const published = await mill.publish(orders, { n: 1 })
  expect(await mill.streams.offset(orders, published)).toBe(1)
  await sql.query('commit')
})

test('T2: a worker gives offsets in a stream that nobody reads', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  const { defineJob } = await import('../../src/index.ts')
  await using worker = mill.worker().handle(defineJob('noop'), () => undefined)
  await worker.start()
  await mill.publishMany(orders, numbered(1, 12_000))
  await until(async () => {
    clock.advance(60_000)
    return (await sql.query('select from event_inbox limit 1')).rows.length === 0
  })
  expect(await mill.streams.list()).toMatchObject([{ head: 12_000 }])
})
