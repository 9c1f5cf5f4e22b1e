import { expect, test } from 'vitest'
import { defineJob, defineStream, typed } from '../../src/index.ts'
import { effects } from '../support/effects.ts'
import { assertOnePlace, assertRunsRecordedOnce, databaseOfFile, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import type { Proxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

// Connections on which packets vanish: nobody is told, and the other connections are well.

const LEASE_MS = 1_500
const dear = defineJob('dear', {
  input: typed<string>(),
  lease: LEASE_MS,
  retry: { failures: 3, backoff: { type: 'fixed', base: '10ms' } },
})

/** What is sent meanwhile never arrives; gives the statement under way on it. */
async function vanishing<T>(proxy: Proxy, send: () => Promise<T>): Promise<Promise<T>[]> {
  proxy.freeze('millrace transaction')
  const sent = send()
  sent.catch(() => undefined)
  await until(() => proxy.deadConnections > 0, { every: 1 })
  proxy.thaw()
  return [sent]
}

test('O4, replays 11: a run whose transaction is on a connection that died without a word does not keep its job', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql, schema } = bench
  const done = await effects(bench)
  const worker = mill.worker().handle(dear, (_input, run) =>
    run.transaction(async (tx) => {
      const write = (): Promise<unknown> => tx.query(done.insert, [run.id, run.number])
      if (run.number > 1) await write()
      else await Promise.all(await vanishing(proxy, write))
    }),
  )
  const { id } = await mill.enqueue(dear, 'x')
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await done.runs()).toEqual([2])
  await worker.stop()
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('O4, replays 11: a run whose transaction never began, on such a connection, does not keep its job', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill } = bench
  const done = await effects(bench)
  let isFirst = true
  const worker = mill.worker({ concurrency: 1 }).handle(dear, async (name, run) => {
    const work = (): Promise<void> =>
      run.transaction(async (tx) => {
        await tx.query(done.insert, [run.id, run.number])
      })
    if (name === 'warm' || !isFirst) return work()
    isFirst = false
    await Promise.all(await vanishing(proxy, work))
  })
  await worker.start()
  const warm = await mill.enqueue(dear, 'warm')
  await mill.jobs.wait(warm.id)
  const { id } = await mill.enqueue(dear, 'x')
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await done.runs()).toEqual([1, 2])
  await worker.stop()
})

test('M8, O4, replays 11: a commit whose answer vanished on such a connection is told to have happened', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql } = bench
  const done = await effects(bench)
  // The commit takes so long that its answer can be kept back.
  await sql.query(`
    create function linger() returns trigger language plpgsql as $$ begin perform pg_sleep(1); return null; end $$;
    create constraint trigger linger after insert on effects
    deferrable initially deferred for each row execute function linger()`)
  let isTold = false
  const worker = mill.worker().handle(dear, async (_input, run) => {
    await run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
    })
    isTold = true
  })
  const { id } = await mill.enqueue(dear, 'x')
  await worker.start()
  await until(async () => (await sql.query(COMMITTING)).rows.length > 0, { every: 1 })
  proxy.freeze('millrace transaction')
  await until(() => isTold)
  proxy.thaw()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1 })
  expect(await done.runs()).toEqual([1])
  await worker.stop()
})

const COMMITTING = `
  select from pg_stat_activity
  where datname = current_database() and application_name = 'millrace transaction' and query = 'commit' and state = 'active'`

test('X3: a worker whose transaction is on such a connection stops all the same', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill } = bench
  const patient = defineJob('patient', { input: typed<string>(), lease: '10m' })
  let isDead = false
  const worker = mill.worker().handle(patient, (_input, run) =>
    run.transaction(async (tx) => {
      const sent = await vanishing(proxy, () => tx.query('select 1'))
      isDead = true
      await Promise.all(sent)
    }),
  )
  await mill.enqueue(patient, 'x')
  await worker.start()
  await until(() => isDead)
  const began = performance.now()
  await worker.stop({ grace: 0 })
  await mill.close()
  expect(performance.now() - began).toBeLessThan(15_000)
})

test('T5, replays 11: a batch on such a connection does not keep its consumer', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill } = bench
  const orders = defineStream('orders', { data: typed<number>() })
  const done = await effects(bench)
  const over = new AbortController()
  let tries = 0
  await mill.publish(orders, 1)
  const options = { as: 'totals', lease: LEASE_MS, signal: over.signal }
  const consuming = mill.consume(orders, options, async (events, tx) => {
    tries += 1
    const [first] = events
    const write = (): Promise<unknown> => tx.query(done.insert, ['event', first?.offset])
    if (tries > 1) await write()
    else await Promise.all(await vanishing(proxy, write))
  })
  await until(async () => (await done.runs()).length > 0)
  over.abort()
  await consuming
  expect(await done.runs()).toEqual([1])
  expect(tries).toBe(2)
})
