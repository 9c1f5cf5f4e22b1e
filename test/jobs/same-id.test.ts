import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { typed } from '../../src/core/schema.ts'
import { InvalidOptionError } from '../../src/errors.ts'
import { enqueueJobs, enqueueMissingJobs } from '../../src/jobs/enqueue-statements.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { executorOn } from '../support/executor.ts'
import { assertOnePlace, databaseOfFile, NOON, places, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const greet = defineJob('greet', { input: typed<{ n: number }>() })

test('E2: the answer says the id, that it was inserted, and the id that was asked', async () => {
  await using t = await setup()
  const { id, outcome, asked } = await t.mill.enqueue(greet, { n: 1 })
  expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  expect({ outcome, asked }).toEqual({ outcome: 'inserted', asked: id })
})

test('E2: the same id again is a no-op that answers kept', async () => {
  await using t = await setup()
  const id = makeId(NOON)
  const first = await t.mill.enqueue(greet, { n: 1 }, { id })
  const second = await t.mill.enqueue(greet, { n: 2 }, { id, priority: 'high' })
  expect([first.outcome, second.outcome]).toEqual(['inserted', 'kept'])
  expect(second).toEqual({ id, outcome: 'kept', asked: id })
  const job = await t.mill.jobs.get(greet, id)
  expect(job).toMatchObject({ input: { n: 1 }, priority: 5 })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1, ready: 1 })
})

test('E2: the same id twice in one statement inserts the first and keeps it', async () => {
  await using t = await setup()
  const id = makeId(NOON)
  const results = await Promise.all([1, 2, 3].map((n) => t.mill.enqueue(greet, { n }, { id })))
  expect(results.map(({ outcome }) => outcome)).toEqual(['inserted', 'kept', 'kept'])
  expect(await t.mill.jobs.get(greet, id)).toMatchObject({ input: { n: 1 } })
})

test('E2: the same id of two clients at once is one job, and one of them is told kept', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const ids = Array.from({ length: 50 }, () => makeId(NOON))
  const [mine, theirs] = await Promise.all([
    Promise.all(ids.map((id) => t.mill.enqueue(greet, { n: 1 }, { id }))),
    Promise.all(ids.toReversed().map((id) => other.mill.enqueue(greet, { n: 2 }, { id }))),
  ])
  const inserted = [...mine, ...theirs].filter(({ outcome }) => outcome === 'inserted')
  expect(inserted.map(({ id }) => id).toSorted()).toEqual(ids)
  await assertOnePlace(t.sql, t.schema)
})

test('E2: an id that stands in a transaction still open is waited for, and nobody waits along', async () => {
  await using t = await setup()
  const id = makeId(NOON)
  await t.sql.query('begin')
  await t.mill.in(t.sql).enqueue(greet, { n: 1 }, { id })
  const waiting = t.mill.enqueue(greet, { n: 2 }, { id })
  const others = await Promise.all([3, 4].map((n) => t.mill.enqueue(greet, { n })))
  expect(others.map(({ outcome }) => outcome)).toEqual(['inserted', 'inserted'])
  await t.sql.query('commit')
  expect(await waiting).toMatchObject({ id, outcome: 'kept' })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 3, ready: 3 })
})

test('E2: an id whose transaction is rolled back was never there', async () => {
  await using t = await setup()
  const id = makeId(NOON)
  await t.sql.query('begin')
  await t.mill.in(t.sql).enqueue(greet, { n: 1 }, { id })
  const waiting = t.mill.enqueue(greet, { n: 2 }, { id })
  await t.sql.query('rollback')
  expect(await waiting).toMatchObject({ id, outcome: 'inserted' })
  expect(await t.mill.jobs.get(greet, id)).toMatchObject({ input: { n: 2 } })
})

test('E2: the id of a job that ended is kept too, and the job does not run again', async () => {
  await using t = await setup()
  const once = defineJob('once', { input: typed<{ n: number }>(), keep: { completed: 0 } })
  let runs = 0
  const worker = t.mill.worker().handle(once, () => {
    runs += 1
  })
  await worker.start()
  const { id } = await t.mill.enqueue(once, { n: 1 })
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  expect(await t.mill.enqueue(once, { n: 1 }, { id })).toMatchObject({ outcome: 'kept' })
  await worker.stop()
  expect(runs).toBe(1)
  expect(await places(t.sql, t.schema)).toEqual({ jobs: 1, ready: 0, leases: 0, finished: 1 })
})

test('E2: an id that is no ULID in canonical text is refused before anything is written', async () => {
  await using t = await setup()
  const wrong = [
    '01arz3ndektsv4rrffq69g5fav',
    '01ARZ3NDEKTSV4RRFFQ69G5FAU',
    '01ARZ3NDEKTSV4RRFFQ69G5FA',
    '81ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01ARZ3NDEKTSV4RRFFQ69G5FA\u0000',
    '',
  ]
  const asked = wrong.map((id) => t.mill.enqueue(greet, { n: 1 }, { id }))
  const answers = await Promise.allSettled(asked)
  const reasons = answers.map((each) => (each.status === 'rejected' ? each.reason : each.value))
  expect(reasons).toEqual(wrong.map(() => expect.any(InvalidOptionError)))
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0 })
})

test('race 16: an answer lost after the commit is looked up: one job, answered inserted', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  using statements = watchStatements(t.schema)
  await t.mill.enqueue(greet, { n: 0 })

  const lost = proxy.loseAnswer('enqueue_alike_jobs')
  const asked = [1, 2, 3].map((n) => t.mill.enqueue(greet, { n }))
  await lost
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 4, ready: 4 })

  const results = await Promise.all(asked)
  expect(results.map(({ outcome }) => outcome)).toEqual(['inserted', 'inserted', 'inserted'])
  expect(statements.count('enqueued_jobs')).toBe(1)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 4, ready: 4 })
})

test('race 16: with keep: 0 and a job that already ran, a lost answer still means one run', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup()
  await using producer = await setup({ database: proxy.url, schema: t.schema })
  const once = defineJob('once', { input: typed<{ n: number }>(), keep: { completed: 0 } })
  let runs = 0
  const worker = t.mill.worker().handle(once, () => {
    runs += 1
  })
  await worker.start()

  await producer.mill.enqueue(once, { n: 0 })
  const lost = proxy.loseAnswer('enqueue_alike_jobs')
  const asked = producer.mill.enqueue(once, { n: 1 })
  await lost
  const { outcome } = await asked
  expect(outcome).toBe('inserted')
  await until(async () => (await places(t.sql, t.schema)).finished === 2)
  await worker.stop()
  expect(runs).toBe(2)
})

test('race 16: an ask that never reached the server is written once the connection is back', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  await t.mill.enqueue(greet, { n: 0 })
  proxy.reset()
  const { outcome } = await t.mill.enqueue(greet, { n: 1 })
  expect(outcome).toBe('inserted')
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 2, ready: 2 })
})

test('race 16: a first try that reaches the server after its repetition fails, and writes nothing', async () => {
  await using t = await setup()
  await using executor = await executorOn(t)
  const lane = executor.lane('enqueue')
  const { id } = await t.mill.enqueue(greet, { n: 1 })
  const rows = [makeId(NOON), id].map((each) => ({
    id: each,
    kind: 'greet',
    queue: 'default',
    payload: '{"n":1}',
    priority: 5,
    lease_ms: 60_000,
  }))
  const asks = { asks: JSON.stringify(rows), hint_until: '-infinity' }
  await expect(lane.run(enqueueJobs, asks)).rejects.toMatchObject({ sqlstate: '23505' })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1, ready: 1 })
  expect(await lane.run(enqueueMissingJobs, asks)).toEqual([{ id: rows[0]?.id }])
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 2, ready: 2 })
})

test('race 16: enqueueMany of several statements whose commit is not answered tells the truth', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  const lost = proxy.loseAnswer('commit\u0000')
  const asked = t.mill.enqueueMany(
    greet,
    Array.from({ length: 5_001 }, (_, n) => ({ n })),
  )
  await lost
  const results = await asked
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['inserted']))
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 5_001, ready: 5_001 })
})
