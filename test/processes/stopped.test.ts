import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { assertOnePlace, assertRunsRecordedOnce, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'
import { workerProcess } from '../support/worker-process.ts'

const visit = defineJob('visit', {
  input: typed<{ waitMs?: number; blockMs?: number; untilTold?: boolean }>(),
  result: typed<string>(),
  lease: '2s',
  retry: { backoff: { type: 'fixed', base: 100, jitter: 0 } },
})

test('race 24: a worker stopped past its leases first looks at the clock, tells its runs, and settles nothing twice', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await using first = await workerProcess(bench)
  const asked = await mill.enqueueMany(visit, [{ untilTold: true }, { untilTold: true }])
  await until(() => first.of('began').length === 2)
  first.signal('SIGSTOP')
  await sql.query(`update jobs set payload = '{}'`)

  await using second = await workerProcess(bench)
  await until(() => second.of('returned').length === 2, { ms: 60_000 })
  await until(async () => (await places(sql, schema)).finished === 2)

  const before = first.told.length
  first.signal('SIGCONT')
  await until(() => first.of('told').length === 2)
  const since = first.told.slice(before).flatMap(({ statement = [] }) => statement)
  // A look at what is due next decides nothing; whatever does comes after the clock.
  expect(since.find((statement) => statement !== 'next_due')).toBe('sample_clock')
  expect(first.of('told').map(({ code }) => code)).toEqual(['LEASE_LOST', 'LEASE_LOST'])
  await until(() => first.of('returned').length === 2)
  await until(() => first.of('notice').length >= 2)

  for (const { id } of asked) {
    expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', result: second.id, run: 2 })
    expect(await collect(mill.jobs.journal(id))).toMatchObject([
      { outcome: 'stale-recovered', run: 1, worker: first.id, recoveredBy: second.id },
      { outcome: 'completed', run: 2, worker: second.id },
    ])
  }
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
}, 120_000)

test('clock: a worker stopped past its leases goes on with the runs that nobody took', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await using only = await workerProcess(bench)
  const { id } = await mill.enqueue(visit, { waitMs: 6_000 })
  await until(() => only.of('began').length === 1)
  only.signal('SIGSTOP')
  const isLapsed = `select from leases where lease_ends_at < now() - interval '2 seconds'`
  await until(async () => (await sql.query(isLapsed)).rows.length === 1)
  only.signal('SIGCONT')
  await until(async () => (await places(sql, schema)).finished === 1, { ms: 60_000 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1, failures: 0 })
  expect(only.of('told')).toEqual([])
}, 120_000)

test('replay 7: a handler that blocks its process past its lease is told that it lost, and its settlement changes nothing', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await using first = await workerProcess(bench)
  const { id } = await mill.enqueue(visit, { blockMs: 8_000, waitMs: 500 })
  await until(() => first.of('began').length === 1)
  await sql.query(`update jobs set payload = '{}'`)
  await using second = await workerProcess(bench)
  await until(async () => (await places(sql, schema)).finished === 1, { ms: 60_000 })
  await until(() => first.of('returned').length === 1, { ms: 60_000 })
  await until(() => first.of('notice').length > 0)

  expect(first.of('told')).toMatchObject([{ job: id, run: 1, code: 'LEASE_LOST' }])
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 2, result: second.id })
  await assertRunsRecordedOnce(sql, schema)
}, 120_000)
