import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, defineOutbox, typed } from '../../src/index.ts'
import { databaseOfFile, setup } from '../support/mill.ts'
import { runSql } from '../support/sql.ts'
import { orders } from '../support/streams.ts'
import { until } from '../support/until.ts'

// Whoever may create functions in a schema that a role's search_path names can offer some that fit a
// call better than PostgreSQL's own, which take any type. They would run with the caller's rights.
// They fail here, so that nothing works that calls one.
const SHADOWS = [
  'public.unnest(text[]) returns setof text',
  'public.min(text) returns text',
  'public.max(text) returns text',
  'public.least(timestamptz, timestamptz) returns timestamptz',
  'public.floor(bigint) returns bigint',
  'public.pg_notify(varchar, varchar) returns void',
  'public.generate_series(smallint, smallint) returns setof int',
  'public.cardinality(text[]) returns int',
]

beforeAll(async () => {
  const url = await databaseOfFile()
  for (const shadow of SHADOWS) {
    await runSql(
      url,
      `create function ${shadow} language plpgsql as $$ begin raise exception 'shadowed'; end $$`,
    )
  }
})
afterAll(async () => {
  const url = await databaseOfFile()
  for (const shadow of SHADOWS) await runSql(url, `drop function ${shadow.split(' returns')[0]}`)
})

test('a function that somebody put in the way is not called by our statements', async () => {
  // Without this the test could not fail.
  await expect(runSql(await databaseOfFile(), `select unnest('{a}'::text[])`)).rejects.toThrow(
    'shadowed',
  )
  await using t = await setup()
  const greet = defineJob('greet', { input: typed<string>(), dedup: (name) => name })
  await t.mill.enqueueMany(greet, ['ada', 'bob', 'ada'])
  await t.mill.publish(orders, { n: 1 })
  const letters = defineOutbox('letters', { message: typed<string>() })
  const delivered: string[] = []
  const worker = t.mill
    .worker()
    .handle(greet, () => undefined)
    .deliver(letters, (letter) => void delivered.push(letter))
  await worker.start()
  await t.mill.schedule('soon', { every: '1h', kind: defineJob('swept') })
  await t.mill.schedules.runNow('soon')
  await t.mill.send(letters, 'one', { key: 'ada' })
  await until(() => delivered.length === 1)
  await until(
    async () =>
      (await t.mill.jobs.list({ kind: greet, state: 'completed' }).page()).items.length === 2,
  )
  await worker.stop()
  await t.mill.jobs.stats()
  await t.mill.jobs.retry({ state: 'dead' })
  await using lock = await t.mill.lock('one', { ttl: '10s' })
  expect(lock.token).toBeGreaterThan(0)
  for await (const event of t.mill.subscribe(orders, { as: 'reader', from: 'start' })) {
    expect(event.data).toEqual({ n: 1 })
    break
  }
})

test("the statements of a run's transaction find names as the role says", async () => {
  await using t = await setup()
  await runSql(t.url, 'create table if not exists public.visits (id text)')
  const visit = defineJob('visit')
  const { id } = await t.mill.enqueue(visit)
  const worker = t.mill.worker().handle(visit, async (_input, run) => {
    await run.transaction(async (tx) => {
      await tx.query('insert into visits values ($1)', [run.id])
    })
  })
  await worker.start()
  await t.mill.jobs.wait(visit, id, { timeout: '20s' })
  await worker.stop()
  expect(await runSql(t.url, 'select id from public.visits')).toEqual([{ id }])
})
