import { expect, test } from 'vitest'
import { defineHandlers, defineJob, open, typed } from '../../src/index.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const plain = defineJob('plain', { queue: 'mail' })
const own = defineJob('own', { queue: 'mail', priority: 1, retry: { backoff: 'linear' } })

test('E3: call over kind over queue over engine, member by member', async () => {
  await using t = await setup()
  const { mill } = t
  await mill.queues.set('mail', {
    priority: 'low',
    retry: { failures: 3, backoff: 'fixed' },
    expires: '1h',
  })
  const asked = [
    await mill.enqueue(plain),
    await mill.enqueue(own),
    await mill.enqueue(own, undefined, { retry: { failures: 5 } }),
    await mill.enqueue(own, undefined, { queue: 'other' }),
  ]
  const jobs = await Promise.all(asked.map(({ id }) => mill.jobs.get(id)))
  const seen = jobs.map((job) => [job?.priority, job?.failureLimit])
  expect(seen).toEqual([
    [8, 3],
    [1, 3],
    [1, 5],
    [1, 10],
  ])
  expect(jobs[0]).toMatchObject({ expiresAt: expect.any(Date) })
  expect(jobs[3]).toMatchObject({ expiresAt: null })
})

test('E3: the queue may be the answer of a function of the input', async () => {
  await using t = await setup()
  const { mill } = t
  const sorted = defineJob('sorted', { input: typed<string>(), queue: (to) => to })
  await mill.queues.set('slow', { priority: 9 })
  const slow = await mill.enqueue(sorted, 'slow')
  const fast = await mill.enqueue(sorted, 'fast')
  expect(await mill.jobs.get(slow.id)).toMatchObject({ queue: 'slow', priority: 9 })
  expect(await mill.jobs.get(fast.id)).toMatchObject({ queue: 'fast', priority: 5 })
})

test('E3: what is stamped stays, what is set again replaces, and {} removes', async () => {
  await using t = await setup()
  const { mill } = t
  await mill.queues.set('mail', { priority: 'low', lease: '5m' })
  const first = await mill.enqueue(plain)
  await mill.queues.set('mail', { priority: 'high' })
  const second = await mill.enqueue(plain)
  await mill.queues.set('mail', {})
  const third = await mill.enqueue(plain)
  const jobs = await Promise.all([first, second, third].map(({ id }) => mill.jobs.get(id)))
  expect(jobs.map((job) => job?.priority)).toEqual([8, 2, 5])
})

test('E3: a client without a worker has what another one set after five seconds at the latest', async () => {
  await using t = await manualSetup()
  await using other = await setup({ schema: t.schema })
  const { mill, clock } = t
  const before = await mill.enqueue(plain)
  await other.mill.queues.set('mail', { priority: 0 })
  const soon = await mill.enqueue(plain)
  clock.advance(5_000)
  const later = await mill.enqueue(plain)
  const jobs = await Promise.all([before, soon, later].map(({ id }) => mill.jobs.get(id)))
  expect(jobs.map((job) => job?.priority)).toEqual([5, 5, 0])
})

test('E3: a client with a worker has it at once, by the hint', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const worker = t.mill.worker({ queues: ['none'] }).handle(plain, () => undefined)
  await worker.start()
  await other.mill.queues.set('mail', { priority: 0 })
  await until(async () => {
    const { id } = await t.mill.enqueue(plain)
    return (await t.mill.jobs.get(id))?.priority === 0
  })
})

test('E3: asks read the queues once in a while, not each time, and bulk and follow-ups have them too', async () => {
  await using t = await setup()
  const { mill, schema } = t
  await mill.queues.set('mail', { priority: 7 })
  using statements = watchStatements(schema)
  const asked = await mill.enqueueMany(plain, Array.from({ length: 50 }))
  for (let count = 0; count < 20; count += 1) await mill.enqueue(plain)
  expect(statements.count('read_queues')).toBeLessThanOrEqual(2)
  expect(await mill.jobs.get(asked[49]?.id ?? '')).toMatchObject({ priority: 7 })
  const parent = defineJob('parent')
  const handlers = defineHandlers().handle(parent, (_, run) => run.enqueue(plain))
  await mill.enqueue(parent)
  await mill
    .worker({ queues: ['default'] })
    .use(handlers)
    .start()
  await until(async () => {
    const { rows } = await t.sql.query('select 1 from ready where priority <> 7')
    const { rows: all } = await t.sql.query('select 1 from ready')
    return rows.length === 0 && all.length === 71
  })
})

test('E3: a transaction on the one connection of an embedded database waits for nothing', async () => {
  const { PGlite } = await import('@electric-sql/pglite')
  await using db = await PGlite.create()
  await using mill = await open(db, { migrate: 'auto', logger: false })
  await mill.queues.set('mail', { priority: 3 })
  const asked = await db.transaction((tx) => mill.in(tx).enqueue(plain))
  expect(await mill.jobs.get(asked.id)).toMatchObject({ priority: 3 })
})

test('E3: what cannot be read in a row says nothing, the rest does', async () => {
  await using t = await setup()
  const { mill, sql } = t
  await sql.query(
    `insert into queues (queue, defaults) values
       ('mail', '{"priority": 6, "lease": "soon", "colour": "red"}'), ('odd', '[1, "\\u0000"]')`,
  )
  // Read again by whatever this client changes.
  await mill.queues.resume('odd')
  const { id } = await mill.enqueue(plain)
  expect(await mill.jobs.get(id)).toMatchObject({ priority: 6 })
})

test.each([
  [{ priority: 10 }, '"priority" got 10'],
  [{ retry: { failures: 0 } }, '"retry.failures" got 0'],
  [{ queue: 'mail' }, 'queues.set() has no such option'],
  [{ lease: '-1s' }, '"lease" got "-1s"'],
  [{ expires: new Date(1e12) }, 'for a queue it is a duration'],
  [null, 'it takes an object of'],
])('queues.set with %j is an error before any I/O', async (defaults, message) => {
  await using t = await setup()
  // @ts-expect-error -- from JavaScript anything may come
  await expect(t.mill.queues.set('mail', defaults)).rejects.toThrow(message)
  expect(await t.mill.queues.list()).toEqual([])
})
