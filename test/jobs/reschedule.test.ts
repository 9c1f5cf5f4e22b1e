import { expect, test } from 'vitest'
import { defineJob, InvalidOptionError, typed } from '../../src/index.ts'
import type { Reschedule } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { assertOnePlace, manualSetup, NOON, setup } from '../support/mill.ts'
import { claimByHand } from '../support/moves.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const HOUR = 3_600_000

test.each<readonly [what: string, to: Reschedule, dueAt: number, priority: number]>([
  ['an instant', { at: new Date(NOON + 5_000) }, NOON + 5_000, 5],
  ['a delay', { delay: '2h' }, NOON + 2 * HOUR, 5],
  ['now', { delay: 0 }, NOON, 5],
  ['long ago, which is now', { at: new Date(0) }, NOON, 5],
  ['another priority', { priority: 'high' }, NOON + HOUR, 2],
  ['both', { delay: '1m', priority: 0 }, NOON + 60_000, 0],
])(
  'X4: a pending job is put to %s, and the journal says so',
  async (_what, to, dueAt, priority) => {
    await using t = await manualSetup()
    const { id } = await t.mill.enqueue(visit, 'x', { delay: '1h' })

    expect(await t.mill.jobs.reschedule(id, to, { by: 'ada' })).toEqual({ matched: 1, applied: 1 })

    expect(await t.mill.jobs.get(id)).toMatchObject({ dueAt: new Date(dueAt), priority })
    expect(await collect(t.mill.jobs.journal(id))).toMatchObject([
      { outcome: 'rescheduled', by: 'ada', dueAt: new Date(dueAt) },
    ])
    await assertOnePlace(t.sql, t.schema)
  },
)

test('X4: a worker that sleeps is woken by it', async () => {
  await using t = await setup()
  const { mill } = t
  const started: string[] = []
  const worker = mill.worker().handle(visit, (name) => {
    started.push(name)
  })
  const { id } = await mill.enqueue(visit, 'x', { delay: '1h' })
  await worker.start()
  await mill.jobs.reschedule(id, { delay: 0 })
  await until(() => started.length === 1, { ms: 10_000 })
})

test('X4: the priority stays when the job ends and is redriven', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(visit, 'x')
  await t.mill.jobs.reschedule(id, { priority: 1 })
  await t.mill.jobs.cancel(id)
  await t.mill.jobs.retry(id)
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending', priority: 1 })
})

test('X4: running and ended jobs are left as they are; a filter means pending ones only', async () => {
  await using t = await manualSetup()
  const { mill, sql } = t
  const jobs = await mill.enqueueMany(visit, ['a', 'b', 'c'])
  const [claimed = '', ended = '', left = ''] = jobs.map(({ id }) => id)
  await claimByHand(sql, claimed)
  await mill.jobs.cancel(ended)
  t.clock.advance(1_000)

  const byIds = await mill.jobs.reschedule([claimed, ended, left], { delay: '1h' })
  const dry = await mill.jobs.reschedule({ kind: visit }, { delay: '1h' }, { dryRun: true })
  const byFilter = await mill.jobs.reschedule({ kind: visit }, { priority: 9 })

  expect(byIds).toEqual({ matched: 3, applied: 1 })
  expect(dry).toEqual({ matched: 1, applied: 0 })
  expect(byFilter).toEqual({ matched: 1, applied: 1 })
  expect(await mill.jobs.get(claimed)).toMatchObject({ state: 'running', priority: 5 })
})

test('M3: a reschedule that meets somebody else at its job waits for its turn', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const { id } = await mill.enqueue(visit, 'x')
  using statements = watchStatements(schema)
  await sql.query('begin')
  await claimByHand(sql, id)
  const moved = mill.jobs.reschedule(id, { priority: 'low' })
  await until(() => statements.count('places_of_jobs') > 0)
  await sql.query('rollback')
  expect(await moved).toEqual({ matched: 1, applied: 1 })
  expect(await mill.jobs.get(id)).toMatchObject({ priority: 8 })
})

test('D1: an ask that waits for a running twin no longer does once somebody says when it is due', async () => {
  await using t = await manualSetup()
  const keyed = defineJob('keyed', { dedup: { key: 'k', scope: 'live', rerun: true } })
  const { id } = await t.mill.enqueue(keyed)
  await claimByHand(t.sql, id)
  const again = await t.mill.enqueue(keyed)
  await t.mill.jobs.reschedule(again.id, { delay: '1m' })
  expect(await t.mill.jobs.get(again.id)).toMatchObject({ dueAt: new Date(NOON + 60_000) })
})

test.each<readonly [why: string, to: Reschedule]>([
  ['there is an `at` too', { at: new Date(NOON), delay: 0 }],
  ['give one of at, delay and priority', {}],
  ['cannot be negative', { delay: -1 }],
  ['holds no instant', { at: new Date(Number.NaN) }],
])('X4: what cannot be is refused before anything is done: %s', async (why, to) => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(visit, 'x')
  const moved = t.mill.jobs.reschedule(id, to)
  await expect(moved).rejects.toThrow(InvalidOptionError)
  await expect(moved).rejects.toThrow(why)
})
