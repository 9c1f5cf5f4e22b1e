import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { untilBlocked } from '../support/blocked.ts'
import { assertOnePlace, manualSetup, places } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })
const SLOTS = 2
const JOBS = 20

test('C5: what a claim under way brings of a queue that was paused meanwhile does not wait in line', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema, session } = bench
  using runs = gate()
  let done = 0
  const worker = mill.worker({ concurrency: SLOTS }).handle(visit, (number) => {
    done += 1
    return number < 0 ? undefined : runs.enter(String(number))
  })
  await worker.start()
  // The pace of short runs is known from these.
  await mill.enqueueMany(visit, [-1, -1, -1, -1])
  await until(async () => (await places(sql, schema)).finished === 4)
  const other = await session()
  await other.query('begin')
  await other.query('lock table leases in share mode')
  await mill.enqueueMany(
    visit,
    Array.from({ length: JOBS }, (_, index) => index),
  )
  await untilBlocked(sql)
  await mill.queues.pause('default')
  await other.query('rollback')
  await until(async () => (await places(sql, schema)).ready === JOBS - SLOTS, { ms: 5_000 })
  runs.open()
  await until(async () => (await places(sql, schema)).leases === 0)
  expect(done).toBe(4 + SLOTS)
  await worker.stop()
  await assertOnePlace(sql, schema)
})
