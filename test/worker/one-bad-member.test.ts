import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, assertRunsRecordedOnce, places, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<number>(),
  result: typed<number>(),
  retry: { failures: 2, backoff: { type: 'fixed', base: '10m' } },
})

test('race 19: of 500 settlements one cannot be stored: 499 settle, and the one fails by itself and says why', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await sql.query(`alter table finished add constraint refused check (result::text <> '313')`)
  using runs = gate()
  using statements = watchStatements(schema)
  const worker = mill.worker({ concurrency: 500 }).handle(visit, async (number) => {
    await runs.enter(String(number))
    return number
  })
  const asked = await mill.enqueueMany(
    visit,
    Array.from({ length: 500 }, (_, index) => index),
  )
  await worker.start()
  await until(() => runs.now === 500)
  runs.open()
  await until(async () => (await places(sql, schema)).leases === 0)

  expect(await places(sql, schema)).toMatchObject({ finished: 499, ready: 1 })
  const bad = asked[313]?.id ?? ''
  expect(await mill.jobs.get(bad)).toMatchObject({ state: 'pending', failures: 1, run: 1 })
  const [entry] = await collect(mill.jobs.journal(bad))
  expect(entry).toMatchObject({ outcome: 'retried', run: 1 })
  if (entry?.outcome !== 'retried') throw new Error('it was not retried')
  expect(entry.error.message).toMatch(/could not be stored/)
  expect(entry.error.stack).toContain('refused')
  // Halved, not one by one.
  expect(statements.count('settle_runs')).toBeLessThan(60)
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('O3: at the limit of failures what cannot be stored leaves the job dead, and says why', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await sql.query(`alter table finished add constraint refused check (result is null)`)
  const worker = mill.worker().handle(visit, (number) => number)
  const { id } = await mill.enqueue(visit, 1, { retry: { failures: 1 } })
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed', failures: 1 })
})
