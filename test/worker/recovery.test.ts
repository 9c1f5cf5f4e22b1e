import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { roster } from '../../src/worker/roster.ts'
import { collect } from '../support/collect.ts'
import { beforeEach } from '../support/lane.ts'
import { insertLease } from '../support/leases.ts'
import { assertOnePlace, manualSetup, NOON, places, setup } from '../support/mill.ts'
import { recovery } from '../support/recovery.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const LINEAR = { backoff: { type: 'linear', baseMs: 7_000, jitter: 0 } }

test('L3: a lapsed lease goes back to pending by the job’s own backoff, counts as a failure and names the lost worker', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const { mill, sql, schema } = bench
  const id = await insertLease(sql, { kind: 'visit', run: 3, failures: 1, options: LINEAR })
  await recovering.sweep()
  expect(await mill.jobs.get(id)).toMatchObject({
    state: 'pending',
    waiting: 'retrying',
    run: 3,
    failures: 2,
    dueAt: new Date(NOON + 14_000),
  })
  expect(await collect(mill.jobs.journal(id))).toMatchObject([
    {
      outcome: 'stale-recovered',
      run: 3,
      worker: 'gone:1:worker',
      recoveredBy: 'me',
      failures: 2,
      dueAt: new Date(NOON + 14_000),
    },
  ])
  await assertOnePlace(sql, schema)
})

test('L3: at the limit of failures a lapsed job is dead', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const id = await insertLease(bench.sql, { kind: 'visit', failures: 2, options: { failures: 3 } })
  await recovering.sweep()
  expect(await bench.mill.jobs.get(id)).toMatchObject({
    state: 'dead',
    reason: 'failed',
    failures: 3,
    worker: 'gone:1:worker',
    error: { code: 'LEASE_LOST' },
  })
})

test('L3: a lease that ended less than a second ago, or will end, stays', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const { sql, schema } = bench
  await insertLease(sql, { kind: 'visit', endsAt: NOON + 1_001 })
  await insertLease(sql, { kind: 'visit', endsAt: NOON + 5_000 })
  expect(await recovering.sweep()).toBe(NOON + 1_001)
  expect(await places(sql, schema)).toMatchObject({ leases: 2, ready: 0 })
})

test('L3: a sweep takes any number, in batches', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const { sql, schema } = bench
  await sql.query(`insert into jobs (id, kind, queue, payload, priority, created_at)
    select '01J' || lpad(i::text, 23, '0'), 'visit', 'default', '1', 5, now() from generate_series(1, 1234) i`)
  await sql.query(`insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority)
    select id, 'gone', 'default', 'visit', '2025-06-15', '2025-06-15', '2025-06-15', 60000, 1, 0, 5 from jobs`)
  await recovering.sweep()
  expect(await places(sql, schema)).toMatchObject({ leases: 0, ready: 1_234 })
})

test('L3: a run that lives here is left alone, a lapsed lease of this worker that does not goes back without a failure', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const living = await insertLease(sql, { kind: 'visit', worker: 'me' })
  const stray = await insertLease(sql, { kind: 'visit', worker: 'me' })
  const live = roster()
  live.add({
    id: living,
    run: 1,
    leaseMs: 60_000,
    leaseEndsAt: NOON,
    renewAt: NOON,
    isEnded: false,
    isTold: false,
    abort: () => undefined,
  })
  await using recovering = await recovery(bench, () => ({ roster: live }))
  await recovering.sweep()
  expect(await mill.jobs.get(living)).toMatchObject({ state: 'running' })
  expect(await mill.jobs.get(stray)).toMatchObject({ state: 'pending', failures: 0, run: 1 })
  expect(await collect(mill.jobs.journal(stray))).toMatchObject([{ outcome: 'released', run: 1 }])
})

test('L3: a worker recovers at its start, and while it works on time', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  const started: string[] = []
  const worker = mill.worker().handle(visit, (input) => {
    started.push(input)
  })
  const early = await insertLease(sql, { kind: 'visit', endsAt: NOON - 5_000, options: LINEAR })
  const late = await insertLease(sql, { kind: 'visit', endsAt: NOON + 60_000, options: LINEAR })
  await worker.start()
  await until(async () => (await mill.jobs.get(early))?.state === 'pending')
  await until(async () => {
    clock.advance(500)
    return (await mill.jobs.get(late))?.state === 'pending'
  })
  const journal = await collect(mill.jobs.journal(late))
  expect(journal[0]?.at.getTime()).toBeGreaterThan(NOON + 61_000)
  await until(async () => {
    clock.advance(500)
    return (await places(sql, schema)).finished === 2
  })
  expect(started).toHaveLength(2)
})

test('L3: where leases are short, one that lapsed is found soon after its end', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  const quick = defineJob('quick', { lease: '3s' })
  const worker = mill.worker().handle(quick, () => undefined)
  await mill.enqueue(quick)
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  using statements = watchStatements(schema)
  clock.advance(10_000)
  await statements.quiet()
  for (const ends of [1_000, 2_000, 3_000]) {
    const id = await insertLease(sql, { kind: 'quick', endsAt: clock.now() + ends })
    const end = clock.now() + ends
    await until(async () => {
      clock.advance(50)
      return (await collect(mill.jobs.journal(id))).length > 0
    })
    const [entry] = await collect(mill.jobs.journal(id))
    expect(entry?.outcome).toBe('stale-recovered')
    expect((entry?.at.getTime() ?? 0) - end).toBeLessThan(6_000)
  }
})

test('L3: after the clock was out of step nothing is recovered for one period, and then it is', async () => {
  await using bench = await setup()
  let doubts = 0
  await using recovering = await recovery(bench, ({ lane }) => ({
    doubts: () => doubts,
    // Found out by the very look for lapsed leases, as after a stop of the process.
    lane: beforeEach(lane, async () => {
      doubts = 1
    }),
  }))
  const id = await insertLease(bench.sql, { kind: 'visit' })
  expect(await recovering.sweep()).toBeNull()
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'running' })
  await recovering.sweep()
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'pending' })
})

test('L3: a process that is in doubt all the time recovers all the same', async () => {
  await using bench = await setup()
  let doubts = 0
  await using recovering = await recovery(bench, ({ lane }) => ({
    doubts: () => doubts,
    lane: beforeEach(lane, async () => {
      doubts += 1
    }),
  }))
  const id = await insertLease(bench.sql, { kind: 'visit' })
  await recovering.sweep()
  await recovering.sweep()
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'pending' })
})

test('L3: a lapsed job whose body is gone goes back all the same, by the defaults', async () => {
  await using bench = await setup()
  await using recovering = await recovery(bench)
  const id = await insertLease(bench.sql, { kind: 'visit' })
  await bench.sql.query('delete from jobs')
  await recovering.sweep()
  const { rows } = await bench.sql.query('select from ready where job_id = $1', [id])
  expect(rows).toHaveLength(1)
})
