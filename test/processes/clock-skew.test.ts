import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { assertOnePlace, assertRunsRecordedOnce, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'
import { workerProcess } from '../support/worker-process.ts'

const visit = defineJob('visit', {
  input: typed<{ waitMs?: number }>(),
  result: typed<string>(),
  lease: '3s',
})
const MINUTES = 60_000

test('replay 15: of three workers one’s clock is five minutes ahead and one’s behind: no lease is stolen, nothing is early, nothing late', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await using right = await workerProcess(bench)
  await using ahead = await workerProcess({ ...bench, shiftMs: 5 * MINUTES })
  await using behind = await workerProcess({ ...bench, shiftMs: -5 * MINUTES })

  // Each holds leases longer than they last, beside the two others.
  await mill.enqueueMany(
    visit,
    Array.from({ length: 45 }, () => ({ waitMs: 5_000 })),
  )
  await until(async () => (await places(sql, schema)).leases === 45)
  const holders = await sql.query<{ worker: string }>('select distinct worker from leases')
  expect(holders.rows).toHaveLength(3)
  // And meanwhile jobs that are not due yet: nobody may begin them early.
  await mill.enqueueMany(
    visit,
    Array.from({ length: 30 }, () => ({})),
    { delay: 8_000 },
  )
  await until(async () => (await places(sql, schema)).finished === 75, { ms: 60_000 })

  const { rows } = await sql.query(`
    select
      count(*) filter (where f.run > 1)::int as again,
      count(*) filter (where f.started_at < j.created_at)::int as before_asked,
      count(*) filter (where j.created_at > now())::int as of_the_future,
      count(*) filter (where f.started_at < j.created_at + interval '8 seconds' and j.payload::text = '{}')::int as early,
      count(*) filter (where f.started_at > j.created_at + interval '10 seconds' and j.payload::text = '{}')::int as late,
      count(*) filter (where f.finished_at > clock_timestamp() + interval '1 second')::int as ended_later
    from finished f join jobs j on j.id = f.job_id`)
  const none = { again: 0, before_asked: 0, of_the_future: 0, early: 0, late: 0, ended_later: 0 }
  expect(rows).toEqual([none])
  expect([right, ahead, behind].flatMap((each) => each.of('told'))).toEqual([])
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
}, 120_000)
