import { expect, test } from 'vitest'
import { instantText } from '../../src/core/instant-text.ts'
import type { Runner } from '../../src/database/executor.ts'
import { typed } from '../../src/core/schema.ts'
import { redriveJobs } from '../../src/jobs/redrive-statements.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { expiredJobs, expireJobs, pruneJobs } from '../../src/jobs/retention-statements.ts'
import { executorOn } from '../support/executor.ts'
import { insertFinished } from '../support/finished.ts'
import { assertOnePlace, manualSetup, NOON, places } from '../support/mill.ts'
import { until } from '../support/until.ts'

const plain = defineJob('plain', { input: typed<{ n: number }>() })
const now = instantText(NOON)

async function prune(runner: Runner, most = 1_000): Promise<number> {
  const [row] = await runner.run(pruneJobs, { most })
  return row?.pruned ?? 0
}

async function redrive(runner: Runner, id: string): Promise<number> {
  const rows = await runner.run(redriveJobs, {
    ids: `{${id}}`,
    states: '{dead,cancelled}',
    by: null,
    hint_until: now,
  })
  return rows.length
}

test('H4: what is past its time goes with its body and its journal, strictly: not at the very instant', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const gone = await insertFinished(t.sql, { pruneAt: NOON - 1 })
  await insertFinished(t.sql, { pruneAt: NOON })
  await insertFinished(t.sql, { pruneAt: NOON + 1 })
  await insertFinished(t.sql, { pruneAt: null })
  expect(await prune(statements.lane('prune'))).toBe(1)
  expect(await t.mill.jobs.get(gone)).toBeNull()
  expect(await places(t.sql, t.schema)).toEqual({ jobs: 3, ready: 0, leases: 0, finished: 3 })
  const { rowCount } = await t.sql.query('select from journal')
  expect(rowCount).toBe(3)
})

test('H4: it goes in bounded batches, the oldest first, and never takes a living job', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  await t.mill.enqueue(plain, { n: 1 }, { expires: new Date(NOON - 1) })
  const ids: string[] = []
  for (let n = 0; n < 5; n += 1) ids.push(await insertFinished(t.sql, { pruneAt: NOON - 100 + n }))
  const lane = statements.lane('prune')
  expect(await prune(lane, 2)).toBe(2)
  expect(await Promise.all(ids.map(async (id) => (await t.mill.jobs.get(id)) === null))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
  expect([await prune(lane, 2), await prune(lane, 2), await prune(lane, 2)]).toEqual([2, 1, 0])
  expect(await places(t.sql, t.schema)).toEqual({ jobs: 1, ready: 1, leases: 0, finished: 0 })
})

test('race 13: a redrive that came first keeps the body; the prune beside it leaves the job', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const id = await insertFinished(t.sql, { pruneAt: NOON - 1 })
  const other = await insertFinished(t.sql, { pruneAt: NOON - 1 })
  const pruned = await statements.lane('redrive').transaction(async (redriving) => {
    expect(await redrive(redriving, id)).toBe(1)
    // The row is gone for the one, and locked for the other.
    return prune(statements.lane('prune'))
  })
  expect(pruned).toBe(1)
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending', input: { n: 1 } })
  expect(await t.mill.jobs.get(other)).toBeNull()
  expect(await prune(statements.lane('prune'))).toBe(0)
  await assertOnePlace(t.sql, t.schema)
})

test('race 13: a prune that came first makes the redrive wait, and then there is nothing to redrive', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const id = await insertFinished(t.sql, { pruneAt: NOON - 1 })
  const redriving = await statements.lane('prune').transaction(async (pruning) => {
    expect(await prune(pruning)).toBe(1)
    const asked = redrive(statements.lane('redrive'), id)
    await until(async () => {
      const { rows } = await t.sql.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%redrive%'`,
      )
      return rows.length === 1
    })
    return { asked }
  })
  expect(await redriving.asked).toBe(0)
  expect(await places(t.sql, t.schema)).toEqual({ jobs: 0, ready: 0, leases: 0, finished: 0 })
  const { rowCount } = await t.sql.query('select from journal')
  expect(rowCount).toBe(0)
})

test('race 13: a prune that is rolled back leaves everything to the redrive that waited', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const id = await insertFinished(t.sql, { pruneAt: NOON - 1 })
  let asked: Promise<number> = Promise.resolve(0)
  const pruning = statements.lane('prune').transaction(async (runner) => {
    await prune(runner)
    asked = redrive(statements.lane('redrive'), id)
    throw new Error('rolled back')
  })
  await expect(pruning).rejects.toThrow('rolled back')
  expect(await asked).toBe(1)
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending', input: { n: 1 } })
  await assertOnePlace(t.sql, t.schema)
})

test('E4: a job that was claimed since it was read as expired is left to its run', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const { id } = await t.mill.enqueue(plain, { n: 1 }, { expires: new Date(NOON) })
  const lane = statements.lane('expire')
  const [row] = await lane.run(expiredJobs, { most: 10 })
  expect(row).toEqual({ job_id: id, options: null })
  await t.sql.query('begin')
  await t.sql.query('select from ready where job_id = $1 for update', [id])
  const jobs = JSON.stringify([{ id, keep_ms: 1_000 }])
  expect(await lane.run(expireJobs, { jobs })).toEqual([])
  await t.sql.query('commit')
  expect(await lane.run(expireJobs, { jobs })).toMatchObject([{ job_id: id }])
  expect(await lane.run(expireJobs, { jobs })).toEqual([])
  const job = await t.mill.jobs.get(id)
  expect(job).toMatchObject({ state: 'dead', reason: 'expired', keptUntil: new Date(NOON + 1_000) })
})

test('E4: an expiry that was moved away since it was read does not end the job', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const { id } = await t.mill.enqueue(plain, { n: 1 }, { expires: new Date(NOON) })
  await t.sql.query(`update ready set expires_at = null`)
  const jobs = JSON.stringify([{ id, keep_ms: 1_000 }])
  expect(await statements.lane('expire').run(expireJobs, { jobs })).toEqual([])
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending' })
})
