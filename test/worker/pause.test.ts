import { expect, test } from 'vitest'
import { defineJob, InvalidOptionError, typed } from '../../src/index.ts'
import type { HandlerReturn, JobRecord, JournalEntry, Run } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { assertOnePlace, assertRunsRecordedOnce, manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const poll = defineJob('poll', {
  result: typed<{ url: string }>(),
  retry: { failures: 3, backoff: { type: 'fixed', base: '10s', jitter: 0 } },
})

async function runOnce(
  bench: ManualSetup,
  handler: (run: Run<typeof poll>) => HandlerReturn<{ url: string }>,
): Promise<{ readonly job: JobRecord | null; readonly journal: readonly JournalEntry[] }> {
  const { mill, sql, schema } = bench
  const worker = mill.worker().handle(poll, (_input, run) => handler(run))
  const { id } = await mill.enqueue(poll)
  await worker.start()
  await until(async () => (await sql.query('select from timeline')).rows.length > 0)
  await worker.stop()
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
  return { job: await mill.jobs.get(id), journal: await collect(mill.jobs.journal(id)) }
}

test('§5: a pause puts the job back for later without a failure, recorded with note and attachment', async () => {
  await using bench = await manualSetup()
  const { job, journal } = await runOnce(bench, (run) => {
    run.note('not ready')
    run.attach({ status: 202 })
    return run.pause({ for: '5m' })
  })
  expect(job).toMatchObject({
    state: 'pending',
    waiting: 'paused',
    dueAt: new Date(NOON + 300_000),
    run: 1,
    failures: 0,
  })
  expect(journal).toMatchObject([
    {
      outcome: 'paused',
      run: 1,
      dueAt: new Date(NOON + 300_000),
      note: 'not ready',
      attachment: { status: 202 },
    },
  ])
})

test('a pause until an instant is due then; an instant that has passed means now', async () => {
  await using bench = await manualSetup()
  const later = await runOnce(bench, (run) => run.pause({ until: new Date(NOON + 1_234) }))
  expect(later.job).toMatchObject({ dueAt: new Date(NOON + 1_234) })
  await bench.sql.query('delete from ready; delete from journal')
  let runs = 0
  const { mill, sql } = bench
  await using worker = mill.worker().handle(poll, (_input, run) => {
    runs += 1
    return runs === 1 ? run.pause({ until: new Date(NOON - 1) }) : { url: '/done' }
  })
  await mill.enqueue(poll)
  await worker.start()
  await until(async () => (await sql.query('select from finished')).rows.length === 1)
  expect(runs).toBe(2)
})

test('calling run.pause decides, returned or not; what is thrown after it still fails the run', async () => {
  await using returned = await manualSetup()
  const first = await runOnce(returned, (run) => {
    run.pause({ for: '1m' })
    return { url: '/not-kept' }
  })
  expect(first.job).toMatchObject({ waiting: 'paused', failures: 0 })

  await using threw = await manualSetup()
  const second = await runOnce(threw, (run) => {
    run.pause({ for: '1m' })
    throw new Error('after all')
  })
  expect(second.job).toMatchObject({ waiting: 'retrying', failures: 1 })
})

test('the last of two pauses counts', async () => {
  await using bench = await manualSetup()
  const { job } = await runOnce(bench, (run) => {
    run.pause({ for: '1h' })
    return run.pause({ for: '1s' })
  })
  expect(job).toMatchObject({ dueAt: new Date(NOON + 1_000) })
})

test.each([
  ['neither', {}],
  ['both', { for: '1s', until: new Date(NOON) }],
  ['a duration below zero', { for: -1 }],
  ['no duration', { for: '0s' }],
  ['no instant', { until: 'tomorrow' }],
  ['an unknown option', { delay: '1s' }],
  ['nothing', undefined],
])('run.pause refuses %s, and has decided nothing', async (_what, given) => {
  await using bench = await manualSetup()
  let thrown: unknown
  const { job } = await runOnce(bench, (run) => {
    try {
      Reflect.apply(run.pause, run, [given])
    } catch (error) {
      thrown = error
    }
    return { url: '/done' }
  })
  expect(thrown).toBeInstanceOf(InvalidOptionError)
  expect(job).toMatchObject({ state: 'completed', result: { url: '/done' } })
})

test('X1: a cancel that was asked meanwhile decides over a pause', async () => {
  await using bench = await manualSetup()
  const { job } = await runOnce(bench, async (run) => {
    await bench.mill.jobs.cancel(run.id, { by: 'ada' })
    return run.pause({ for: '1m' })
  })
  expect(job).toMatchObject({ state: 'cancelled', by: 'ada', failures: 0 })
})
