import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Client } from 'pg'
import { databaseClock } from '../../src/core/clock.ts'
import type { DatabaseClock } from '../../src/core/clock.ts'
import { typed } from '../../src/core/schema.ts'
import { engineFor } from '../../src/database/connect.ts'
import { executor } from '../../src/database/executor.ts'
import { namespace } from '../../src/database/namespace.ts'
import { prepareAsk } from '../../src/jobs/ask.ts'
import { enqueuer } from '../../src/jobs/enqueue.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { gate } from '../support/gate.ts'
import { databaseOfFile, NOON, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const plain = defineJob('plain', { input: typed<{ n: number }>() })
const MINUTE = 60_000
// Far more than a round trip takes on a slow machine, far less than the hosts below are off.
const CLOSE = 60_000

afterEach(() => vi.restoreAllMocks())

/** By how many milliseconds the jobs were made after the database's clock says it is now. */
async function distances(sql: Client): Promise<readonly number[]> {
  const { rows } = await sql.query<{ ahead: number }>(
    `select (extract(epoch from created_at - clock_timestamp()) * 1000)::float8 as ahead from jobs`,
  )
  return rows.map(({ ahead }) => ahead)
}

describe.each([5 * MINUTE, -5 * MINUTE])('on a host whose clock is %d ms off', (off) => {
  function setHost(): void {
    const real = Date.now.bind(Date)
    vi.spyOn(Date, 'now').mockImplementation(() => real() + off)
  }

  test("replay 15: what is written carries the database's time, from the first statement on", async () => {
    setHost()
    await using t = await setup()
    await t.mill.enqueue(plain, { n: 1 })
    await t.mill.enqueueMany(plain, [{ n: 2 }], { delay: '1h' })
    await t.sql.query('begin')
    await t.mill.in(t.sql).enqueue(plain, { n: 3 })
    await t.sql.query('commit')
    const found = await distances(t.sql)
    expect(found).toHaveLength(3)
    expect(found.filter((each) => Math.abs(each) > CLOSE)).toEqual([])
  })

  test('replay 15: a worker there starts nothing early or late, and its leases end when they should', async () => {
    setHost()
    await using t = await setup()
    const soon = defineJob('soon', { input: typed<{ n: number }>(), lease: '60s' })
    using held = gate()
    const worker = t.mill.worker().handle(soon, () => held.enter('soon'))
    await worker.start()
    const due = await t.mill.enqueue(soon, { n: 1 })
    const later = await t.mill.enqueue(soon, { n: 2 }, { delay: '4m' })
    await until(async () => (await t.mill.jobs.get(due.id))?.state === 'running')
    const { rows } = await t.sql.query<{ left: number }>(
      `select (extract(epoch from lease_ends_at - clock_timestamp()) * 1000)::float8 as left from leases`,
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.left).toBeGreaterThan(0)
    expect(rows[0]?.left).toBeLessThan(61_000)
    expect(await t.mill.jobs.get(later.id)).toMatchObject({
      state: 'pending',
      waiting: 'scheduled',
    })
    held.open()
    await worker.stop()
  })
})

test('the clock is measured when a client opens, and not again with every statement', async () => {
  const schema = 't_measured'
  using statements = watchStatements(schema)
  await using t = await setup({ schema })
  for (let n = 0; n < 30; n += 1) await t.mill.enqueue(plain, { n })
  // A machine that stalls for a second is taken for one that slept: it may be measured again.
  expect(statements.count('sample_clock')).toBeLessThan(10)
})

test('after a reconnect the clock is measured before the next statement', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  await t.mill.enqueue(plain, { n: 1 })
  using statements = watchStatements(t.schema)
  proxy.reset()
  await t.mill.enqueue(plain, { n: 2 })
  const sampled = statements.names.lastIndexOf('sample_clock')
  expect(sampled).toBeGreaterThan(-1)
  expect(statements.names.findLastIndex((name) => name.startsWith('enqueue_'))).toBeGreaterThan(
    sampled,
  )
})

test('race 24: an enqueue after a sleep of the machine carries the time of after it', async () => {
  await using t = await setup()
  const engine = await engineFor(t.url)
  const clock = asleep()
  const statements = executor({
    engine,
    namespace: namespace(t.schema),
    origin: { schema: t.schema, prefix: '' },
    clock,
    databaseClock: clock,
    timeoutMs: 20_000,
    prepare: true,
  })
  const { enqueue } = enqueuer({
    executor: statements,
    maxPayload: 1_000,
    hintUntil: () => 'infinity',
    journal: () => Promise.resolve([]),
  })
  expect(clock.now()).toBe(NOON)
  const ask = await prepareAsk(plain, { n: 1 }, { options: {}, now: NOON, maxPayload: 1_000 })
  await enqueue(ask)
  await statements.close()
  await engine.close()
  const [distance] = await distances(t.sql)
  expect(Math.abs(distance ?? Number.POSITIVE_INFINITY)).toBeLessThan(CLOSE)
})

/** A clock that stood still since noon long ago, until it is measured. */
function asleep(): DatabaseClock {
  const inner = databaseClock()
  let isAwake = false
  inner.close()
  return {
    ...inner,
    now: () => (isAwake ? inner.now() : NOON),
    observe(sample) {
      isAwake = true
      inner.observe(sample)
    },
    needsSample: () => !isAwake,
  }
}
