import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { connect } from '../../src/client.ts'
import { engineFor } from '../../src/database/connect.ts'
import type { Engine } from '../../src/database/database.ts'
import { defineJob, typed } from '../../src/index.ts'
import { openSettings } from '../../src/open-options.ts'
import { endlessly } from '../support/endlessly.ts'
import { assertOnePlace, assertRunsRecordedOnce, places, setup } from '../support/mill.ts'
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

test('replay 10: PostgreSQL is gone for ten seconds under load: the worker lives, resumes at once, and nothing is lost or doubled', async () => {
  await using server = await startServer({ settings: { max_connections: '50' } })
  await using bench = await setup({ database: server.url() })
  const { mill, schema } = bench
  let ends = 0
  const worker = mill.worker({ concurrency: 5 }).handle(visit, async () => {
    await new Promise((resolve) => setImmediate(resolve))
    ends += 1
  })
  await worker.start()
  const answered: string[] = []
  const producing = endlessly(async () => {
    const asked = await mill.enqueue(visit, answered.length).catch(() => undefined)
    if (asked !== undefined) answered.push(asked.id)
  })
  await until(() => ends > 100)

  await server.stop('immediate')
  await pause(TEN_SECONDS)
  const before = ends
  await server.start()
  const backAt = performance.now()
  await until(() => ends > before, { ms: 60_000 })
  expect(performance.now() - backAt).toBeLessThan(RESUMED_WITHIN)

  await until(() => ends > before + 100, { ms: 60_000 })
  await producing.stop()
  await using looker = await lookerOn(server.url(), schema)
  await until(
    async () => {
      const { ready, leases } = await places(looker.sql, schema)
      return ready + leases === 0
    },
    { ms: 60_000 },
  )
  const { rows } = await looker.sql.query(
    `select count(*)::int as completed from finished where job_id = any ($1) and state = 'completed'`,
    [answered],
  )
  expect(rows).toEqual([{ completed: answered.length }])
  await assertOnePlace(looker.sql, schema)
  await assertRunsRecordedOnce(looker.sql, schema)
}, 180_000)

test('replay 11: connections that fall silent, the listener too, are given up in time; polling covers meanwhile, nothing is lost', async () => {
  await using bench = await setup()
  const { mill, url, sql, schema } = bench
  await using proxy = await proxyTo(url)
  const engine = impatient(await engineFor(proxy.url))
  const settings = openSettings({ logger: false, schema }, false)
  await using behind = await connect(engine, settings)
  const ended = new Set<number>()
  const worker = behind.worker({ concurrency: 5, poll: '500ms' }).handle(visit, (number) => {
    ended.add(number)
  })
  await worker.start()
  const numbers = Array.from({ length: 500 }, (_, index) => index)
  await mill.enqueueMany(visit, numbers)
  await until(() => ended.size > 50)

  proxy.bury()
  const before = proxy.connections
  await until(async () => (await places(sql, schema)).finished === 500, { ms: 60_000 })
  // A job that is asked for while its listener hears nothing.
  await mill.enqueue(visit, 500)
  await until(() => ended.has(500), { ms: 60_000 })
  expect(proxy.connections).toBeGreaterThan(before)
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
}, 120_000)

/** Half a minute without an answer is too long for a test: two seconds. */
function impatient(engine: Engine): Engine {
  return {
    driver: engine.driver,
    isSingleConnection: engine.isSingleConnection,
    connect: (options) =>
      engine.connect({ ...options, timeoutMs: Math.min(options.timeoutMs, 2_000) }),
    listen: (channel, handlers) => engine.listen(channel, handlers),
    close: () => engine.close(),
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

const TEN_SECONDS = 10_000
// The line of the replay says two seconds; the rest is for a machine that has other things to do.
const RESUMED_WITHIN = 2_000 + 3_000

/** A session that looks at the tables of a server of its own. */
async function lookerOn(
  url: string,
  schema: string,
): Promise<AsyncDisposable & { readonly sql: Client }> {
  const sql = new Client({ connectionString: url })
  sql.on('error', () => undefined)
  await sql.connect()
  await sql.query(`set search_path to ${schema}`)
  return { sql, [Symbol.asyncDispose]: () => sql.end() }
}
