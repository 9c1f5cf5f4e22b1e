import postgres from 'postgres'
import { expect, test } from 'vitest'
import { LeaseLostError, open } from '../../src/index.ts'
import type { Transaction } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { databaseOfFile, manualSetup, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { startPglite } from '../support/pglite.ts'
import { numbered, orders, range, savedOffset, takeUntil } from '../support/streams.ts'
import { until } from '../support/until.ts'

/** A table of the application that says which events had their effect. */
async function projection({ sql, schema }: Setup): Promise<Projection> {
  await sql.query(`create table seen (n bigint generated always as identity, event int, by text)`)
  const insert = `insert into ${schema}.seen (event, by) values ($1, $2)`
  return {
    insert,
    write: async (tx, events, by) => {
      for (const { data } of events) await tx.query(insert, [data.n, by])
    },
    events: async () => {
      const { rows } = await sql.query<{ event: number }>('select event from seen order by n')
      return rows.map(({ event }) => event)
    },
  }
}

interface Projection {
  readonly insert: string
  readonly write: (
    tx: Transaction,
    events: readonly { data: { n: number } }[],
    by: string,
  ) => Promise<void>
  readonly events: () => Promise<readonly number[]>
}

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
      `select from pg_stat_activity where application_name = 'millrace consumers' and state = 'idle' and query like '%consumers%'`,
    )
    return rows.length > 0
  })
  expect((await other.query('select from pg_locks where not granted')).rows).toEqual([])
  await sql.query('commit')
  expect((await taking).map(({ offset }) => offset)).toEqual([3])
})

test('T5: closing the client lets the batch under way end', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const seen = await projection(bench)
  await mill.publishMany(orders, numbered(1, 2))
  using batch = gate()
  const consuming = mill.consume(orders, { as: 'a' }, async (events, tx) => {
    await seen.write(tx, events, 'a')
    await batch.enter('written')
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
