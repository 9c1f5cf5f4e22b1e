import { expect, test } from 'vitest'
import * as z from 'zod'
import { defineJob, GiveUp, RetryIn, typed } from '../../src/index.ts'
import type { JobRecord, JournalEntry, Run } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  manualSetup,
  NOON,
  setup,
} from '../support/mill.ts'
import type { ManualSetup, Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  result: typed<unknown>(),
  retry: { failures: 3, backoff: { type: 'linear', base: '10s', jitter: 0 } },
})

/** One job, run once by `handler`; what stands in the tables after that run. */
async function runOnce(
  bench: Setup | ManualSetup,
  handler: (input: string, run: Run<typeof visit>) => unknown,
): Promise<{
  readonly id: string
  readonly job: JobRecord
  readonly journal: readonly JournalEntry[]
}> {
  const { mill, sql, schema } = bench
  const worker = mill.worker().handle(visit, handler)
  const { id } = await mill.enqueue(visit, 'input')
  await worker.start()
  await until(async () => (await sql.query('select from timeline')).rows.length === 1)
  await worker.stop()
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
  const job = await mill.jobs.get(id)
  if (job === null) throw new Error('the job has no record')
  return { id, job, journal: await collect(mill.jobs.journal(id)) }
}

test('§5: a run that returns completes its job, with result, note and attachment', async () => {
  await using bench = await manualSetup()
  const { job, journal } = await runOnce(bench, (input, run) => {
    run.note('first')
    run.note(`seen ${input}`)
    run.attach({ pages: [1, 2] })
    return { ok: true }
  })
  expect(job).toMatchObject({
    state: 'completed',
    result: { ok: true },
    run: 1,
    failures: 0,
    note: 'seen input',
    attachment: { pages: [1, 2] },
    startedAt: new Date(NOON),
    finishedAt: new Date(NOON),
  })
  expect(journal).toMatchObject([{ outcome: 'completed', run: 1, note: 'seen input' }])
})

test('§5: a run that throws below the limit goes back by the backoff, recorded as retried', async () => {
  await using bench = await manualSetup()
  const { id, job, journal } = await runOnce(bench, (_input, run) => {
    run.note('half way')
    throw Object.assign(new RangeError('too far'), { code: 'E_FAR' })
  })
  expect(job).toMatchObject({
    state: 'pending',
    waiting: 'retrying',
    failures: 1,
    run: 1,
    dueAt: new Date(NOON + 10_000),
  })
  expect(journal).toMatchObject([
    {
      outcome: 'retried',
      failures: 1,
      dueAt: new Date(NOON + 10_000),
      note: 'half way',
      error: { name: 'RangeError', message: 'too far', code: 'E_FAR' },
    },
  ])
  const { rows } = await bench.sql.query('select id, state, last_error from all_jobs')
  expect(rows).toMatchObject([{ id, state: 'pending', last_error: { message: 'too far' } }])
})

test('§5: a run that throws at the limit of failures leaves its job dead', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql, schema } = bench
  let runs = 0
  const worker = mill.worker().handle(visit, () => {
    runs += 1
    throw new Error(`failure ${runs}`)
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(async () => {
    clock.advance(1_000)
    return (await mill.jobs.get(id))?.state === 'dead'
  })
  expect(runs).toBe(3)
  expect(await mill.jobs.get(id)).toMatchObject({
    reason: 'failed',
    run: 3,
    failures: 3,
    error: { message: 'failure 3' },
  })
  expect(await collect(mill.jobs.journal(id))).toMatchObject([
    { outcome: 'retried', run: 1 },
    { outcome: 'retried', run: 2 },
    { outcome: 'dead', run: 3 },
  ])
  await assertRunsRecordedOnce(sql, schema)
})

test.each([
  ['thrown', () => Promise.reject(new GiveUp('no such user'))],
  ['returned', () => new GiveUp('no such user')],
])('§5: GiveUp, %s, leaves the job dead at its first failure', async (_how, handler) => {
  await using bench = await setup()
  const { job } = await runOnce(bench, handler)
  expect(job).toMatchObject({
    state: 'dead',
    reason: 'gave-up',
    failures: 1,
    error: { name: 'GiveUp', message: 'no such user' },
  })
})

test('§5: RetryIn waits as long as it says in place of the backoff, and counts', async () => {
  await using bench = await manualSetup()
  const { job, journal } = await runOnce(bench, () => {
    throw new RetryIn('3h', 'closed today')
  })
  expect(job).toMatchObject({
    state: 'pending',
    failures: 1,
    dueAt: new Date(NOON + 3 * 3_600_000),
  })
  expect(journal).toMatchObject([{ outcome: 'retried', error: { message: 'closed today' } }])
})

test('§5: an error that is returned counts as thrown', async () => {
  await using bench = await setup()
  const { job } = await runOnce(bench, () => new TypeError('returned'))
  expect(job).toMatchObject({ state: 'pending', failures: 1 })
})

test('§5: an input that no longer is JSON leaves the job dead, without a call of the handler', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  // The column's type says that this cannot be; a table that was changed by hand can do it.
  await sql.query('drop view all_jobs')
  await sql.query('alter table jobs alter column payload type text')
  let calls = 0
  const worker = mill.worker().handle(visit, () => {
    calls += 1
  })
  const { id } = await mill.enqueue(visit, 'x')
  await sql.query(`update jobs set payload = '{"broken'`)
  await worker.start()
  await until(async () => (await sql.query('select from finished')).rows.length === 1)
  const { rows } = await sql.query('select job_id, state, reason, failures, error from finished')
  expect(rows).toMatchObject([
    {
      job_id: id,
      state: 'dead',
      reason: 'undecodable',
      failures: 1,
      error: { name: 'SyntaxError' },
    },
  ])
  expect(calls).toBe(0)
})

test.each([
  ['a schema', z.object({ userId: z.string() })],
  ['an asynchronous schema', z.object({ userId: z.string() }).refine(async () => true)],
])('§5: an input that %s of this release refuses leaves the job dead', async (_name, schema) => {
  await using bench = await setup()
  const { mill } = bench
  const old = defineJob('strict', { input: typed<{ user: number }>() })
  const strict = defineJob('strict', { input: schema })
  let calls = 0
  const worker = mill.worker().handle(strict, () => {
    calls += 1
  })
  const { id } = await mill.enqueue(old, { user: 1 })
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'dead')
  expect(await mill.jobs.get(id)).toMatchObject({
    reason: 'undecodable',
    error: { code: 'INVALID_INPUT' },
  })
  expect(calls).toBe(0)
})

test('C6: a run knows who it is, and its number grows with every claim', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  const seen: object[] = []
  const worker = mill.worker().handle(visit, (_input, run) => {
    const { id, kind, queue, number, failures, deadline } = run
    seen.push({ id, kind, queue, number, failures, deadline })
    if (number < 3) throw new Error('again')
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => {
    clock.advance(1_000)
    return seen.length === 3
  })
  const facts = { id, kind: 'visit', queue: 'default', deadline: null }
  expect(seen).toEqual([
    { ...facts, number: 1, failures: 0 },
    { ...facts, number: 2, failures: 1 },
    { ...facts, number: 3, failures: 2 },
  ])
})

test('C6: a worker is host, process and something of its own; the lease says who and until when', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  const [one, two] = [mill.worker(), mill.worker()]
  expect(one.id).toMatch(new RegExp(`^.+:${process.pid}:[0-9a-z]{8}$`))
  expect(one.id).not.toBe(two.id)
  let during: JobRecord | null = null
  one.handle(visit, async (_input, run) => {
    during = await mill.jobs.get(run.id)
  })
  await mill.enqueue(visit, 'x', { lease: '90s' })
  await one.start()
  await until(() => during)
  expect(during).toMatchObject({
    state: 'running',
    run: 1,
    worker: one.id,
    startedAt: new Date(NOON),
    leaseEndsAt: new Date(NOON + 90_000),
  })
})
