import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { defineJob, typed } from '../../src/index.ts'
import { roster } from '../../src/worker/roster.ts'
import { strays } from '../../src/worker/strays.ts'
import { collect } from '../support/collect.ts'
import { executorOn } from '../support/executor.ts'
import { gate } from '../support/gate.ts'
import { insertLease } from '../support/leases.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  databaseOfFile,
  manualSetup,
  NOON,
  places,
  setup,
} from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>(), retry: { failures: 1 } })

test('race 7: a claim that committed and whose answer was lost goes back in a moment, without a failure', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql, schema } = bench
  const started: string[] = []
  const worker = mill.worker().handle(visit, (name) => {
    started.push(name)
  })
  const ids = await mill.enqueueMany(visit, ['a', 'b', 'c'])
  const lost = proxy.loseAnswer('claim_jobs')
  await worker.start()
  await lost
  // Long before a lease ends: that would be a minute.
  await until(() => started.length === 3)
  await until(async () => (await places(sql, schema)).finished === 3)

  expect(started.toSorted()).toEqual(['a', 'b', 'c'])
  const journal = await collect(mill.jobs.journal(ids[0]?.id ?? ''))
  expect(journal).toMatchObject([
    { outcome: 'released', run: 1, worker: worker.id },
    { outcome: 'completed', run: 2, worker: worker.id },
  ])
  expect(await mill.jobs.get(ids[1]?.id ?? '')).toMatchObject({ state: 'completed', failures: 0 })
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('race 7: a claim that commits after the first look for it goes back soon, even while every slot is taken', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql, schema } = bench
  using runs = gate()
  using statements = watchStatements(schema)
  const worker = mill.worker({ concurrency: 1 }).handle(visit, runs.enter)
  await mill.enqueueMany(visit, ['a', 'b'])
  // The claim waits inside the server for this lock, and outlives its connection.
  const blocker = await bench.session()
  // What a transaction once read of pg_stat_activity it reads for ever: another session looks.
  const watcher = await bench.session()
  await blocker.query('begin')
  await blocker.query('lock table leases in share row exclusive mode')
  await worker.start()
  const claiming = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name = 'millrace claim'`
  await until(async () => (await watcher.query(claiming)).rows.length === 1)
  proxy.reset()
  await until(async () => (await watcher.query(claiming)).rows.length === 2)
  expect(statements.count('stray_leases')).toBeGreaterThan(0)
  await blocker.query('commit')

  // Whichever of the two jobs the lost claim took, it waits in line again.
  await until(() => runs.now === 1)
  await until(async () => (await sql.query('select from ready')).rows.length === 1)
  const { rows } = await sql.query('select outcome, run from journal')
  expect(rows).toEqual([{ outcome: 'released', run: 1 }])
  expect(runs.names).toHaveLength(1)
  runs.open()
  await until(async () => (await places(sql, schema)).finished === 2)
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('C8: a run that lives here is no stray, though a lost claim was made in the same millisecond', async () => {
  await using bench = await manualSetup()
  await using here = await executorOn(bench)
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
  const lost = strays({
    worker: 'me',
    clock: here.clock,
    lane: here.lane('maintenance'),
    roster: live,
    seekMs: 60_000,
    hintUntil: () => '-infinity',
  })
  lost.lost(NOON - 60_000)
  await lost.returnAll()
  expect(await mill.jobs.get(living)).toMatchObject({ state: 'running' })
  expect(await mill.jobs.get(stray)).toMatchObject({ state: 'pending', failures: 0 })
})

test('race 14: a stray lease of a pending job fails no claim, and the queue goes on', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const started: string[] = []
  const worker = mill.worker().handle(visit, (name) => {
    started.push(name)
  })
  const { id } = await mill.enqueue(visit, 'twice there')
  await mill.enqueue(visit, 'behind it')
  await sql.query(
    `insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority)
     select job_id, 'nobody', queue, kind, now(), now() + interval '1 hour', due_at, lease_ms, 7, 0, priority
     from ready where job_id = $1`,
    [id],
  )
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(started).toEqual(['behind it'])
  // The lease stays as the one place of the job: whoever held it settles it, or it lapses.
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'running', worker: 'nobody', run: 7 })
  await assertOnePlace(sql, schema)
})

test('race 14: a job without a body ends dead, undecodable, and the queue goes on', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const started: string[] = []
  const worker = mill.worker().handle(visit, (name) => {
    started.push(name)
  })
  const id = makeId(1)
  await sql.query(
    `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
     values ($1, 'default', 'visit', now() - interval '1 minute', 60000, 0, 0, 5)`,
    [id],
  )
  await mill.enqueue(visit, 'behind it')
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 2)
  expect(started).toEqual(['behind it'])
  const { rows } = await sql.query(
    'select state, reason, run, error from finished where job_id = $1',
    [id],
  )
  expect(rows).toMatchObject([
    { state: 'dead', reason: 'undecodable', run: 1, error: { name: 'SyntaxError' } },
  ])
  expect(rows[0].error.message).toContain(id)
})
