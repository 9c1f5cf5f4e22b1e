import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { untilBlocked } from '../support/blocked.ts'
import { gate } from '../support/gate.ts'
import { manualSetup, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<number>(),
  result: typed<number>(),
  retry: { failures: 2, backoff: { type: 'fixed', base: '10m' } },
})
const noop = defineJob('noop', { input: typed<number>() })

test('X3: a worker stops also after a batch of which one is refused, one written and one fails as a whole', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  // Refused by its row alone, so that the batch is halved; and then not by any row's fault.
  await sql.query(`alter table finished add constraint refused check (result::text <> '2')`)
  await sql.query(
    `create function away() returns trigger language plpgsql as $$
     begin raise 'nobody may' using errcode = '42501'; end $$`,
  )
  await sql.query(
    `create trigger away after insert on finished for each row
     when (new.result::text = '3') execute function away()`,
  )
  using runs = gate()
  const worker = mill.worker().handle(visit, async (number) => {
    await runs.enter(String(number))
    return number
  })
  await mill.enqueueMany(visit, [1, 2, 3])
  await worker.start()
  await until(() => runs.now === 3)
  runs.open()
  await until(async () => (await places(sql, schema)).ready === 1)
  let isStopped = false
  void worker.stop({ grace: 0 }).then(() => {
    isStopped = true
  })
  await until(() => isStopped, { ms: 5_000 })
  expect(await places(sql, schema)).toMatchObject({ finished: 1, ready: 1, leases: 1 })
})

test('a worker that waited for ended runs to be written goes on when they are, all of them in one statement', async () => {
  // No time passes, so that nothing but being caught up ends the wait.
  await using bench = await manualSetup()
  const { mill, sql, schema, session } = bench
  const JOBS = 3_400
  let done = 0
  const worker = mill.worker({ concurrency: 100, grace: 0 }).handle(noop, () => {
    done += 1
  })
  const other = await session()
  await other.query('begin')
  await other.query('lock table finished in share mode')
  await mill.enqueue(noop, 0)
  await worker.start()
  // Under way alone, so that all others end in one statement.
  await untilBlocked(sql)
  await mill.enqueueMany(
    noop,
    Array.from({ length: JOBS }, (_, index) => index),
  )
  await until(() => done >= 2_000)
  await until(async () => (await places(sql, schema)).leases === done)
  await other.query('rollback')
  await until(async () => (await places(sql, schema)).finished === JOBS + 1, { ms: 10_000 })
}, 60_000)
