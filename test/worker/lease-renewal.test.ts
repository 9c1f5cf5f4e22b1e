import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { heldLeases, renewLeases } from '../../src/worker/lease-statements.ts'
import { settleRun } from '../../src/worker/settle-statements.ts'
import { executorOn } from '../support/executor.ts'
import { gate } from '../support/gate.ts'
import { insertLease } from '../support/leases.ts'
import { assertOnePlace, manualSetup, NOON, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>(), lease: '30s' })

test('L1: a lease is renewed when a third of it has passed, as long as the run lives', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, runs.enter)
  await mill.enqueue(visit, 'long')
  await worker.start()
  await until(() => runs.now === 1)
  expect(await leaseEnd(sql)).toBe(NOON + 30_000)
  for (const passed of [10_000, 20_000, 30_000]) {
    clock.advance(10_000)
    await until(async () => (await leaseEnd(sql)) === NOON + passed + 30_000)
  }
  runs.open()
  await until(async () => (await places(sql, bench.schema)).finished === 1)
})

test('L1, replay 7: a job far longer than its lease never gets a second run while its worker lives', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  using runs = gate()
  const here = mill.worker().handle(visit, runs.enter)
  const beside = mill.worker().handle(visit, runs.enter)
  const { id } = await mill.enqueue(visit, 'long')
  await Promise.all([here.start(), beside.start()])
  await until(() => runs.now === 1)
  for (let passed = 0; passed < 300_000; passed += 8_000) {
    clock.advance(8_000)
    await until(async () => (await leaseEnd(sql)) >= clock.now() + 20_000)
  }
  expect(runs.names).toEqual(['long'])
  runs.open()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1, failures: 0 })
})

test('race 9: a lease that another session holds locked delays no renewal of the others', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, runs.enter)
  const asked = await mill.enqueueMany(visit, ['a', 'b', 'c', 'd'])
  await worker.start()
  await until(() => runs.now === 4)
  const locked = asked[0]?.id ?? ''
  const other = await bench.session()
  await other.query('begin')
  await other.query('select from leases where job_id = $1 for update', [locked])

  clock.advance(10_000)
  await until(async () => (await endsBut(sql, locked)).every((end) => end === NOON + 40_000))
  expect(await leaseEnd(sql, locked)).toBe(NOON + 30_000)
  // The skipped one comes again within a second.
  await other.query('rollback')
  clock.advance(1_000)
  await until(async () => (await leaseEnd(sql, locked)) === NOON + 41_000)
  runs.open()
})

test('race 8: renewals beside a settlement of the same rows in another order skip what it holds', async () => {
  await using bench = await setup()
  await using here = await executorOn(bench)
  const { sql } = bench
  const ids: string[] = []
  for (let count = 0; count < 100; count += 1) {
    ids.push(await insertLease(sql, { kind: 'visit', worker: 'me' }))
  }
  const settled = ids.filter((_, index) => index % 2 === 0).toReversed()
  const renewed = await here.lane('settle').transaction(async (runner) => {
    const moved = await runner.run(settleRun, {
      follow_ups: '[]',
      fates: JSON.stringify(settled.map((id) => ({ id, run: 1, outcome: 'completed' }))),
      worker: 'me',
      hint_until: '-infinity',
    })
    expect(moved).toHaveLength(50)
    // Not committed yet: the renewal must not wait for it.
    return here.lane('renew').run(renewLeases, { runs: runsOf(ids), worker: 'me' })
  })
  expect(renewed.map((row) => row.job_id).toSorted()).toEqual(
    ids.filter((id) => !settled.includes(id)),
  )
  expect(renewed.every((row) => row.lease_ends_at === NOON + 60_000)).toBe(true)
})

test('race 8: a settlement that waits for a renewal applies once that is committed', async () => {
  await using bench = await setup()
  await using here = await executorOn(bench)
  const { sql, schema } = bench
  const id = await insertLease(sql, { kind: 'visit', worker: 'me' })
  const settle = await here.lane('renew').transaction(async (runner) => {
    await runner.run(renewLeases, { runs: runsOf([id]), worker: 'me' })
    const settling = here.lane('settle').run(settleRun, {
      follow_ups: '[]',
      fates: JSON.stringify([{ id, run: 1, outcome: 'completed' }]),
      worker: 'me',
      hint_until: '-infinity',
    })
    await until(async () => (await waitingForLocks(sql)) === 1)
    return { settling }
  })
  expect(await settle.settling).toMatchObject([{ job_id: id, run: 1, outcome: 'completed' }])
  expect(await places(sql, schema)).toMatchObject({ leases: 0, finished: 1 })
})

test('race 8: a hundred leases, renewed while they settle in other orders: no deadlock, none lost', async () => {
  await using bench = await setup()
  await using here = await executorOn(bench)
  const { sql, schema } = bench
  for (let round = 0; round < 8; round += 1) {
    const ids: string[] = []
    for (let count = 0; count < 100; count += 1) {
      ids.push(await insertLease(sql, { kind: 'visit', worker: 'me' }))
    }
    const runs = runsOf(ids)
    const parts = Array.from({ length: 10 }, (_, part) =>
      ids.filter((_id, index) => index % 10 === part).toReversed(),
    )
    const settling = parts.map((part) =>
      here.lane('settle').run(settleRun, {
        follow_ups: '[]',
        fates: JSON.stringify(part.map((id) => ({ id, run: 1, outcome: 'completed' }))),
        worker: 'me',
        hint_until: '-infinity',
      }),
    )
    const renewing = Array.from({ length: 10 }, () =>
      here.lane('renew').run(renewLeases, { runs, worker: 'me' }),
    )
    await Promise.all([...settling, ...renewing])
    expect((await Promise.all(settling)).flat()).toHaveLength(100)
  }
  expect(await places(sql, schema)).toMatchObject({ leases: 0, finished: 800 })
  await assertOnePlace(sql, schema)
})

test('L1: a renewal names its runs: it extends no stray lease, no other run, no other worker', async () => {
  await using bench = await setup()
  await using here = await executorOn(bench)
  const { sql } = bench
  const mine = await insertLease(sql, { kind: 'visit', worker: 'me', run: 2 })
  const stray = await insertLease(sql, { kind: 'visit', worker: 'me' })
  const other = await insertLease(sql, { kind: 'visit', worker: 'other', run: 2 })
  const runs = JSON.stringify([
    { id: mine, run: 2 },
    { id: mine, run: 1 },
    { id: stray, run: 3 },
    { id: other, run: 2 },
  ])
  const renewed = await here.lane('renew').run(renewLeases, { runs, worker: 'me' })
  expect(renewed.map((row) => row.job_id)).toEqual([mine])
  const held = await here.lane('renew').run(heldLeases, { runs, worker: 'me' })
  expect(held).toEqual([{ job_id: mine, run: 2, lease_ends_at: NOON + 60_000 }])
  expect(await leaseEnd(sql, stray)).toBe(NOON)
})

test('L1: a renewal never shortens a lease', async () => {
  await using bench = await setup()
  await using here = await executorOn(bench)
  const id = await insertLease(bench.sql, { kind: 'visit', worker: 'me', endsAt: NOON + 500_000 })
  await here.lane('renew').run(renewLeases, { runs: runsOf([id]), worker: 'me' })
  expect(await leaseEnd(bench.sql, id)).toBe(NOON + 500_000)
})

function runsOf(ids: readonly string[]): string {
  return JSON.stringify(ids.map((id) => ({ id, run: 1 })))
}

async function leaseEnd(sql: Client, id?: string): Promise<number> {
  const { rows } = await sql.query<{ ends: number }>(
    `select (extract(epoch from lease_ends_at) * 1000)::float8 as ends
     from leases where job_id = coalesce($1, job_id)`,
    [id ?? null],
  )
  return rows[0]?.ends ?? Number.NaN
}

async function endsBut(sql: Client, id: string): Promise<readonly number[]> {
  const { rows } = await sql.query<{ ends: number }>(
    `select (extract(epoch from lease_ends_at) * 1000)::float8 as ends
     from leases where job_id <> $1`,
    [id],
  )
  return rows.map((row) => row.ends)
}

async function waitingForLocks(sql: Client): Promise<number> {
  const { rows } = await sql.query(
    `select from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}
