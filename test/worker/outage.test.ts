import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { endlessly } from '../support/endlessly.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  databaseOfFile,
  places,
  setup,
} from '../support/mill.ts'
import { startServer } from '../support/postgres-server.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<number>(),
  retry: { failures: 3, backoff: { type: 'fixed', base: 50 } },
})

test('replay 10: all backends ended under load, again and again: the process lives, resumes, and loses and doubles nothing', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const ran = new Map<number, number>()
  const worker = mill.worker({ concurrency: 20 }).handle(visit, async (number, run) => {
    ran.set(number, (ran.get(number) ?? 0) + 1)
    await new Promise((resolve) => setImmediate(resolve))
    if (number % 20 === 0 && run.number === 1) throw new Error('once')
  })
  await worker.start()
  let asked = 0
  const producing = endlessly(async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => asked + index)
    asked += numbers.length
    await mill.enqueueMany(visit, numbers)
  })
  for (let times = 1; times <= 5; times += 1) {
    const enough = times * 300
    await until(async () => (await places(sql, schema)).finished >= enough, { ms: 60_000 })
    await sql.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'millrace%'`)
  }
  await producing.stop()
  await until(async () => (await places(sql, schema)).finished === asked, { ms: 60_000 })

  expect(ran.size).toBe(asked)
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
  const { rows } = await sql.query(
    `select count(*) filter (where state <> 'completed')::int as other,
       count(*) filter (where run > 1 and not exists (
         select from journal j where j.job_id = f.job_id and j.outcome in ('retried', 'released')))::int as unexplained
     from finished f`,
  )
  expect(rows).toEqual([{ other: 0, unexplained: 0 }])
}, 180_000)

test('replay 10: PostgreSQL restarted under load: the worker goes on by itself', async () => {
  await using server = await startServer({ settings: { max_connections: '50' } })
  await using bench = await setup({ database: server.url() })
  const { mill } = bench
  const ended = new Set<number>()
  const worker = mill.worker({ concurrency: 5 }).handle(visit, (number) => {
    ended.add(number)
  })
  await worker.start()
  await mill.enqueueMany(
    visit,
    Array.from({ length: 200 }, (_, index) => index),
  )
  await until(() => ended.size > 50)
  await server.restart('immediate')
  await until(() => ended.size === 200, { ms: 60_000 })
  await mill.enqueue(visit, 1_000)
  await until(() => ended.has(1_000), { ms: 30_000 })
}, 180_000)

test('replay 11: every connection frozen without a word while jobs run: nothing is lost, and the next ones run', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql, schema } = bench
  const ended = new Set<number>()
  const worker = mill.worker({ concurrency: 5 }).handle(visit, (number) => {
    ended.add(number)
  })
  await worker.start()
  await mill.enqueueMany(
    visit,
    Array.from({ length: 500 }, (_, index) => index),
  )
  await until(() => ended.size > 50)
  proxy.freeze()
  await until(async () => (await places(sql, schema)).jobs === 500)
  proxy.reset()
  proxy.thaw()
  await until(async () => (await places(sql, schema)).finished === 500, { ms: 60_000 })
  await assertRunsRecordedOnce(sql, schema)
}, 120_000)
