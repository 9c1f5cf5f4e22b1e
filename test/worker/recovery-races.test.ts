import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { renewLeases } from '../../src/worker/lease-statements.ts'
import { settleRun } from '../../src/worker/settle-statements.ts'
import { collect } from '../support/collect.ts'
import { executorOn } from '../support/executor.ts'
import { beforeEach } from '../support/lane.ts'
import { insertLease } from '../support/leases.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { recovery } from '../support/recovery.ts'

const visit = defineJob('visit', { input: typed<string>() })

test('race 11: a lease that its owner renews between the look and the move stays', async () => {
  await using bench = await setup()
  await using owner = await executorOn(bench)
  const { sql, schema } = bench
  const renewed = await insertLease(sql, { kind: 'visit' })
  const lapsed = await insertLease(sql, { kind: 'visit' })
  await using recovering = await recovery(bench, ({ lane }) => ({
    lane: beforeEach(lane, async (statement) => {
      if (statement !== 'recover_runs') return
      const runs = JSON.stringify([{ id: renewed, run: 1 }])
      await owner.lane('renew').run(renewLeases, { runs, worker: 'gone:1:worker' })
    }),
  }))
  await recovering.sweep()
  expect(await bench.mill.jobs.get(renewed)).toMatchObject({ state: 'running', failures: 0 })
  expect(await bench.mill.jobs.get(lapsed)).toMatchObject({ state: 'pending', failures: 1 })
  await assertOnePlace(sql, schema)
})

test('race 11: a lease that is being renewed right now is skipped, and nobody waits', async () => {
  await using bench = await setup()
  await using owner = await executorOn(bench)
  await using recovering = await recovery(bench)
  const id = await insertLease(bench.sql, { kind: 'visit' })
  await owner.lane('renew').transaction(async (runner) => {
    const runs = JSON.stringify([{ id, run: 1 }])
    await runner.run(renewLeases, { runs, worker: 'gone:1:worker' })
    await recovering.sweep()
  })
  await recovering.sweep()
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'running', failures: 0 })
})

test('race 12, replay 12: a run that completes between the look and the move stays completed', async () => {
  await using bench = await setup()
  await using owner = await executorOn(bench)
  const id = await insertLease(bench.sql, { kind: 'visit' })
  await using recovering = await recovery(bench, ({ lane }) => ({
    lane: beforeEach(lane, async (statement) => {
      if (statement !== 'recover_runs') return
      await owner.lane('settle').run(settleRun, {
        fates: JSON.stringify([{ id, run: 1, outcome: 'completed' }]),
        follow_ups: '[]',
        worker: 'gone:1:worker',
        hint_until: '-infinity',
      })
    }),
  }))
  await recovering.sweep()
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1 })
  expect(await collect(bench.mill.jobs.journal(id))).toMatchObject([{ outcome: 'completed' }])
  await assertOnePlace(bench.sql, bench.schema)
})

test('L3: a lapsed lease that was claimed again in between belongs to its new owner', async () => {
  await using bench = await setup()
  const { sql } = bench
  const id = await insertLease(sql, { kind: 'visit' })
  await using recovering = await recovery(bench, ({ lane }) => ({
    lane: beforeEach(lane, async (statement) => {
      if (statement === 'recover_runs') await sql.query(`update leases set worker = 'new', run = 2`)
    }),
  }))
  await recovering.sweep()
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'running', run: 2, worker: 'new' })
})

test('replay 17: two leases of one key that lapse in one sweep both go back, and all others with them', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const { sql, schema } = bench
  const twins = [
    await insertLease(sql, { kind: 'visit', dedupKey: 'k' }),
    await insertLease(sql, { kind: 'visit', dedupKey: 'k' }),
  ]
  await insertLease(sql, { kind: 'visit', dedupKey: 'other' })
  await insertLease(sql, { kind: 'visit' })
  await recovering.sweep()
  expect(await places(sql, schema)).toMatchObject({ leases: 0, ready: 4 })
  const { rows } = await sql.query<{ sibling: string }>(
    `select sibling from ready where dedup_key = 'k' order by job_id`,
  )
  expect(rows.map((row) => row.sibling)).toEqual(twins)
})

test('D5: a job that lapsed goes back beside a twin of its key that waits already', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const { mill, sql } = bench
  const id = await insertLease(sql, { kind: 'visit', dedupKey: 'k' })
  const twin = await mill.enqueue(visit, 'twin')
  await sql.query(`update ready set dedup_key = 'k' where job_id = $1`, [twin.id])
  await recovering.sweep()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending' })
  expect(await mill.jobs.get(twin.id)).toMatchObject({ state: 'pending' })
})
