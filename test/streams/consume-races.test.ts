import postgres from 'postgres'
import { expect, test } from 'vitest'
import { waiting } from '../support/blocked.ts'
import { LeaseLostError } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { databaseOfFile, manualSetup, setup } from '../support/mill.ts'
import { projection } from '../support/projection.ts'
import { proxyTo } from '../support/proxy.ts'
import { numbered, orders, range, takeUntil } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('races 29, T5: a consumer that stalls in its batch and was taken over is refused; its effects are there once', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 5))
  const stop = new AbortController()
  using stalled = gate()
  let isStalling = true
  const first = mill.consume(
    orders,
    { as: 'a', lease: '1s', signal: stop.signal },
    async (events, tx) => {
      await seen.write(tx, events, 'first')
      if (isStalling) await stalled.enter('written')
    },
  )
  await until(() => stalled.now === 1)
  // As another process does it: the first does not notice before its batch is at its end.
  await bench.sql.query(
    `update consumers set token = token + 1, holder = 'another', lease_ends_at = to_timestamp($1::float8 / 1000) + interval '1 hour'`,
    [clock.now()],
  )
  await bench.sql.query(
    `insert into seen (event, by) select n, 'another' from generate_series(1, 5) n`,
  )
  await bench.sql.query(`update consumers set saved_offset = 5`)
  isStalling = false
  stalled.open()
  // It stands by again, and goes on behind what the other did.
  await until(async () => {
    const { rows } = await bench.sql.query(
      `select from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
    )
    return rows.length === 0
  })
  await bench.sql.query('update consumers set holder = null, lease_ends_at = null')
  await mill.publishMany(orders, numbered(6, 7))
  await until(async () => {
    clock.advance(1_000)
    return (await seen.events()).length === 7
  })
  stop.abort()
  await first
  expect(await seen.events()).toEqual(range(1, 7))
})

test('T5: a move that misses throws LeaseLostError into the transaction of the caller’s library', async () => {
  await using bench = await setup()
  const { mill, url, sql } = bench
  const library = postgres(url, { max: 1, onnotice: () => {} })
  const thrown: unknown[] = []
  const source = {
    begin: async (
      options: string | ((tx: postgres.TransactionSql) => unknown),
      work?: (tx: postgres.TransactionSql) => unknown,
    ) => {
      const fn = typeof options === 'function' ? options : work
      return library
        .begin(async (tx) => fn?.(tx))
        .catch((error: unknown) => {
          thrown.push(error)
          throw error
        })
    },
  }
  try {
    await mill.publish(orders, { n: 1 })
    const stop = new AbortController()
    const consuming = mill.consume(
      orders,
      { as: 'a', transaction: source, signal: stop.signal },
      async () => {
        await sql.query(`update consumers set token = token + 1, holder = 'another'`)
        stop.abort()
      },
    )
    await consuming
    expect(thrown).toEqual([expect.any(LeaseLostError)])
  } finally {
    await library.end()
  }
})

test('T5: an offset that was moved by hand while a batch was at work rolls it back, and consuming goes on behind it', async () => {
  await using bench = await setup()
  const { mill } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 8))
  const stop = new AbortController()
  let batches = 0
  await mill.consume(orders, { as: 'a', limit: 4, signal: stop.signal }, async (events, tx) => {
    batches += 1
    await seen.write(tx, events, 'a')
    if (batches === 1) await mill.streams.save(orders, 'a', 6)
    else stop.abort()
  })
  expect(await seen.events()).toEqual([7, 8])
})

test('M8: a batch whose commit’s answer was lost is looked up, and its effects are there once', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 4))
  const stop = new AbortController()
  let lost: Promise<void> | undefined
  let batches = 0
  await mill.consume(orders, { as: 'a', limit: 2, signal: stop.signal }, async (events, tx) => {
    batches += 1
    await seen.write(tx, events, 'a')
    lost ??= proxy.loseAnswer('commit')
    if (events.at(-1)?.data.n === 4) stop.abort()
  })
  await lost
  expect(batches).toBe(2)
  expect(await seen.events()).toEqual([1, 2, 3, 4])
})

test('M8: a batch whose connection is lost before the commit is done again', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 2))
  const stop = new AbortController()
  let batches = 0
  await mill.consume(orders, { as: 'a', signal: stop.signal }, async (events, tx) => {
    batches += 1
    await seen.write(tx, events, 'a')
    if (batches > 1) return stop.abort()
    const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
    await sql.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  })
  expect(batches).toBe(2)
  expect(await seen.events()).toEqual([1, 2])
})

test('T4, T5: while the move of a batch waits for its commit, a stand-by neither waits nor takes the name', async () => {
  await using bench = await setup()
  const { mill, sql, session } = bench
  await mill.publishMany(orders, numbered(1, 2))
  await takeUntil(mill.subscribe(orders, { as: 'a' }), 2)
  await sql.query('begin')
  await sql.query(`update consumers set saved_offset = 2`)
  const other = await session()
  const taking = takeUntil(mill.subscribe(orders, { as: 'a' }), 3)
  await mill.publish(orders, { n: 3 })
  // It has asked, was answered, and asks again: nothing waits in the database.
  await until(async () => {
    const { rows } = await other.query(
      `select from pg_stat_activity
       where datname = current_database() and application_name = 'millrace consumers'
         and state = 'idle' and query like '%consumers%'`,
    )
    return rows.length > 0
  })
  expect(await waiting(other)).toBe(0)
  await sql.query('commit')
  expect((await taking).map(({ offset }) => offset)).toEqual([3])
})
