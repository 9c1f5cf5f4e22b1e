import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { JobFilter } from '../../src/index.ts'
import { assertOnePlace, assertRunsRecordedOnce, setup } from '../support/mill.ts'
import { claimByHand, retryByHand } from '../support/moves.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const asked = { by: 'ada', why: 'it is not needed' }

test.each([
  [{ force: false }, { state: 'running', worker: 'stranger', cancelRequestedAt: expect.any(Date) }],
  [{ force: true }, { state: 'cancelled', worker: 'stranger', run: 1, by: 'ada' }],
])('race 1: a cancel that began while the claim was open meets the run, %j', async (how, found) => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const { id } = await mill.enqueue(visit, 'x')
  using statements = watchStatements(schema)
  await sql.query('begin')
  await claimByHand(sql, id)

  const cancelled = mill.jobs.cancel(id, { ...asked, ...how })
  // It looked in vain at least once before the claim commits.
  await until(() => statements.count('places_of_jobs') > 0)
  await sql.query('commit')

  expect(await cancelled).toEqual({ matched: 1, applied: 1 })
  expect(await mill.jobs.get(id)).toMatchObject(found)
  await assertOnePlace(sql, schema)
})

test('race 1: a cancel that was faster than the claim leaves nothing to claim', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const other = await bench.session()
  const { id } = await mill.enqueue(visit, 'x')
  await mill.jobs.cancel(id)
  await expect(claimByHand(sql, id)).rejects.toThrow('was not pending')
  await expect(claimByHand(other, id)).rejects.toThrow('was not pending')
})

test.each<readonly [how: string, which: (id: string) => string | JobFilter, force: boolean]>([
  ['by id', (id) => id, false],
  ['by id, forced', (id) => id, true],
  ['by filter', () => ({ kind: 'visit' }), false],
  ['by filter, forced', () => ({ kind: 'visit' }), true],
])('race 2: a cancel %s meets a failed run on its way back', async (_how, which, force) => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const { id } = await mill.enqueue(visit, 'x')
  await claimByHand(sql, id)
  using statements = watchStatements(schema)
  await sql.query('begin')
  await retryByHand(sql, id)

  const cancelled = mill.jobs.cancel(which(id), { ...asked, force })
  await until(() => statements.count('places_of_jobs') > 0)
  await sql.query('commit')

  expect(await cancelled).toEqual({ matched: 1, applied: 1 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'cancelled', run: 1, ...asked })
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test.each([false, true])(
  'race 2: a cancel and a redrive at once: whatever they answer is what is there (force %s)',
  async (force) => {
    await using bench = await setup()
    await using other = await setup({ schema: bench.schema })
    const { mill, sql, schema } = bench
    const jobs = await mill.enqueueMany(visit, Array<string>(40).fill('x'))
    await mill.jobs.cancel(jobs.map(({ id }) => id))
    for (const { id } of jobs) {
      const [redriven, cancelled] = await Promise.all([
        other.mill.jobs.retry(id),
        mill.jobs.cancel(id, { ...asked, force }),
      ])
      expect(redriven.applied).toBe(1)
      const state = cancelled.applied === 0 ? 'pending' : 'cancelled'
      expect(await mill.jobs.get(id)).toMatchObject({ state })
    }
    await assertOnePlace(sql, schema)
  },
)

test('race 2: a filter that names pending jobs lets one go that was claimed meanwhile', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const { id } = await mill.enqueue(visit, 'x')
  using statements = watchStatements(schema)
  await sql.query('begin')
  await claimByHand(sql, id)
  const cancelled = mill.jobs.cancel({ kind: visit, state: 'pending' })
  await until(() => statements.count('places_of_jobs') > 0)
  await sql.query('commit')
  expect(await cancelled).toEqual({ matched: 1, applied: 0 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'running', cancelRequestedAt: null })
})

test('M7: a job that an open transaction holds stops no other, and is an error in the end', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const jobs = await mill.enqueueMany(visit, ['a', 'b', 'c'])
  const ids = jobs.map(({ id }) => id)
  await sql.query('begin')
  await sql.query('select from ready where job_id = $1 for update', [ids[1]])

  const cancelled = mill.jobs.cancel(ids)
  const failure = cancelled.catch((error: unknown) => error)
  await until(async () => (await mill.jobs.get(ids[2] ?? ''))?.state === 'cancelled')
  expect(await failure).toMatchObject({ code: 'DATABASE', sqlstate: '55P03' })
  await sql.query('rollback')

  expect(await mill.jobs.get(ids[1] ?? '')).toMatchObject({ state: 'pending' })
  expect(await mill.jobs.cancel(ids)).toEqual({ matched: 3, applied: 1 })
})
