import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { insertLease } from '../support/leases.ts'
import { untilBlocked } from '../support/blocked.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { recovery } from '../support/recovery.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const BEGUN = 987_654_321

test('race 14: a run of a job that has ended meanwhile leaves it ended, and is not run again', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, (name) => runs.enter(name))
  const [ended] = await mill.enqueueMany(visit, ['ended', 'beside it'])
  await worker.start()
  await until(() => runs.now === 2)
  await sql.query(
    `insert into finished (job_id, state, kind, queue, finished_at, started_at, run, failures, worker)
     select job_id, 'completed', kind, queue, now(), started_at, run, failures, 'somebody' from leases where job_id = $1`,
    [ended?.id],
  )
  runs.open()
  await until(async () => (await places(sql, schema)).finished === 2)
  await worker.stop()
  expect(await places(sql, schema)).toMatchObject({ ready: 0, finished: 2 })
})

test('race 14: recovery takes a stray lease of a job that has ended, which stays as it ended', async () => {
  await using bench = await setup()
  const { sql, schema } = bench
  const id = await insertLease(sql, { kind: 'visit' })
  await sql.query(
    `insert into finished (job_id, state, kind, queue, finished_at, started_at, run, failures, worker)
     select job_id, 'completed', kind, queue, now(), started_at, run, failures, worker from leases where job_id = $1`,
    [id],
  )
  await using here = await recovery(bench)
  await here.sweep()
  expect(await places(sql, schema)).toMatchObject({ ready: 0, leases: 0, finished: 1 })
  await assertOnePlace(sql, schema)
})

test('race 14: a claim meets a stray lease while recovery takes it: the job stays in one place', async () => {
  await using bench = await setup()
  const { mill, sql, schema, session } = bench
  // Only the recovery below takes it for lapsed, not the worker's own.
  const endsAt = Date.UTC(2050, 0, 1)
  const id = await insertLease(sql, { kind: 'visit', endsAt })
  await sql.query(
    `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
     select job_id, queue, kind, now(), lease_ms, run, failures, priority from leases where job_id = $1`,
    [id],
  )
  // The claim stops between its choice and its move.
  await sql.query(
    `create function halt() returns trigger language plpgsql as $$
     begin perform pg_advisory_xact_lock(${BEGUN}); return old; end $$`,
  )
  await sql.query(`create trigger halt before delete on ready for each row execute function halt()`)
  const gatekeeper = await session()
  await gatekeeper.query(`select pg_advisory_lock(${BEGUN})`)
  const worker = mill.worker().handle(visit, () => undefined)
  await worker.start()
  await untilBlocked(sql)
  await using here = await recovery(bench, ({ clock }) => ({
    clock: { ...clock, now: () => endsAt + 2_000 },
  }))
  const swept = here.sweep()
  // With or without waiting for the claim.
  await Promise.race([swept, untilBlocked(sql, 2)])
  await gatekeeper.query(`select pg_advisory_unlock(${BEGUN})`)
  await swept
  await worker.stop()
  await assertOnePlace(sql, schema)
})
