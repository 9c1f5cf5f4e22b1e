import { fork } from 'node:child_process'
import { expect, test } from 'vitest'
import { LeaseLostError } from '../../src/index.ts'
import { databaseOfFile, manualSetup, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { numbered, orders, savedOffset, takeUntil } from '../support/streams.ts'
import { until } from '../support/until.ts'

test('T4: a second subscriber of a name stands by, and takes over at once when the first closes', async () => {
  await using bench = await setup()
  await using other = await setup({ schema: bench.schema })
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 4))
  const first = mill.subscribe(orders, { as: 'a', lease: '1h' })
  const mine = first[Symbol.asyncIterator]()
  expect(await mine.next()).toMatchObject({ value: { offset: 1 } })
  expect(await mine.next()).toMatchObject({ value: { offset: 2 } })
  const taking = takeUntil(other.mill.subscribe(orders, { as: 'a', lease: '1h' }), 4)
  const isStandingBy = async (): Promise<boolean> =>
    (
      await bench.sql.query(
        `select from pg_stat_activity
         where datname = current_database() and application_name like 'millrace consumers%'`,
      )
    ).rows.length >= 2
  await until(isStandingBy)
  expect((await mill.streams.consumers(orders))[0]?.holder).toMatch(/:\d+:/)
  await first.close()
  expect((await taking).map(({ offset }) => offset)).toEqual([2, 3, 4])
})

test('T4: a stand-by takes over once the lease of a lost holder has ended, and the token grows', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup()
  await using lost = await setup({ schema: bench.schema, database: proxy.url })
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 4))
  const mine = lost.mill.subscribe(orders, { as: 'a', lease: '1s' })[Symbol.asyncIterator]()
  await mine.next()
  await mine.next()
  await until(async () => (await savedOffset(mill, 'a')) === 1)
  proxy.freeze()
  const taken = await takeUntil(mill.subscribe(orders, { as: 'a', lease: '1s' }), 4)
  expect(taken.map(({ offset }) => offset)).toEqual([2, 3, 4])
  const { rows } = await bench.sql.query('select token::int from consumers')
  expect(rows).toEqual([{ token: 2 }])
  proxy.thaw()
  proxy.reset()
})

test('races 30: a holder that was taken over gets a LeaseLostError and saves nothing', async () => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  await mill.publishMany(orders, numbered(1, 9))
  const mine = mill.subscribe(orders, { as: 'a' })[Symbol.asyncIterator]()
  for (let count = 0; count < 5; count += 1) await mine.next()
  await sql.query(`update consumers set token = token + 1, holder = 'another'`)
  const error = await until(async () => {
    bench.clock.advance(100)
    return mine.next().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
  })
  expect(error).toBeInstanceOf(LeaseLostError)
  expect(error).toMatchObject({ id: 'a', run: 1 })
  expect((await sql.query('select saved_offset, holder from consumers')).rows).toEqual([
    { saved_offset: null, holder: 'another' },
  ])
  expect(await mine.next()).toEqual({ done: true, value: undefined })
})

test('races 30: after its lease has passed a holder asks before it hands on what it had read', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  await mill.publishMany(orders, numbered(1, 9))
  const mine = mill.subscribe(orders, { as: 'a', lease: '1s' })[Symbol.asyncIterator]()
  await mine.next()
  // As a stopped process: its timers have not run yet when the loop goes on.
  await sql.query(`update consumers set token = token + 1, holder = 'another'`)
  clock.advance(5_000)
  await expect(mine.next()).rejects.toThrow(LeaseLostError)
})

test('races 30: a process that is stopped and goes on later finds its name taken', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 200))
  const program = new URL('../processes/stream-consumer.mjs', import.meta.url).pathname
  const given = JSON.stringify({
    url: bench.url,
    schema: bench.schema,
    as: 'a',
    lease: 1_000,
    ms: 20,
  })
  const child = fork(program, [given], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const heard: { what: string; offset?: number; code?: string }[] = []
  child.on('message', (message: { what: string; offset?: number; code?: string }) => {
    heard.push(message)
  })
  try {
    await until(() => heard.length >= 5)
    await until(async () => ((await savedOffset(mill, 'a')) ?? 0) > 0)
    child.kill('SIGSTOP')
    const saved = await savedOffset(mill, 'a')
    const stop = new AbortController()
    const taken: number[] = []
    let told = 0
    for await (const { offset } of mill.subscribe(orders, { as: 'a', signal: stop.signal })) {
      if (taken.length === 0) {
        told = heard.length
        child.kill('SIGCONT')
      }
      taken.push(offset)
      if (heard.some(({ what }) => what === 'lost') && taken.length >= 50) stop.abort()
      else if (offset === 200) break
    }
    expect(taken[0]).toBeGreaterThan(saved ?? 0)
    await until(() => heard.some(({ what }) => what === 'lost'))
    expect(heard.find(({ what }) => what === 'lost')).toMatchObject({ code: 'LEASE_LOST' })
    // It may just have been about to tell of one; nothing is begun after that.
    const after = heard.slice(told).filter(({ what }) => what === 'event')
    expect(after.length).toBeLessThanOrEqual(1)
  } finally {
    child.kill('SIGKILL')
  }
}, 60_000)
