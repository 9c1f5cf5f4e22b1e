import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineJob, ShutdownError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { gate } from '../support/gate.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  manualSetup,
  NOON,
  places,
  setup,
} from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  result: typed<string>(),
  retry: { failures: 1 },
})

test('X3, replay 9: a job longer than the grace is released when it is over, without a failure, and keeps its place', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  using runs = gate()
  const seen: Run[] = []
  const worker = mill.worker({ grace: '20s' }).handle(visit, async (name, run) => {
    seen.push(run)
    run.note('reached page 7')
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'long', { priority: 3 })
  await worker.start()
  await until(() => runs.now === 1)
  clock.advance(5_000)
  const stopped = worker.stop()
  expect(seen[0]?.signal.reason).toBeInstanceOf(ShutdownError)
  clock.advance(19_999)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'running' })
  clock.advance(1)
  await stopped

  expect(await mill.jobs.get(id)).toMatchObject({
    state: 'pending',
    waiting: 'due',
    run: 1,
    failures: 0,
    priority: 3,
    dueAt: new Date(NOON),
  })
  expect(await collect(mill.jobs.journal(id))).toMatchObject([
    { outcome: 'released', run: 1, worker: worker.id, note: 'reached page 7' },
  ])
  // Its return is void.
  runs.open()
  const next = mill.worker().handle(visit, () => 'of the next')
  await next.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ run: 2, failures: 0, result: 'of the next' })
  await assertRunsRecordedOnce(sql, schema)
})

test('X3: runs that end within the grace settle as they truly ended', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    if (name === 'fails') throw new Error('true failure')
    return name
  })
  const [good, bad] = await mill.enqueueMany(visit, ['returns', 'fails'])
  await worker.start()
  await until(() => runs.now === 2)
  const stopped = worker.stop()
  runs.open()
  await stopped
  expect(await mill.jobs.get(good?.id ?? '')).toMatchObject({
    state: 'completed',
    result: 'returns',
  })
  expect(await mill.jobs.get(bad?.id ?? '')).toMatchObject({ state: 'dead', failures: 1 })
  await assertOnePlace(sql, schema)
})

test.each<[string, (run: Run) => unknown]>([
  ['the shutdown reason itself', (run) => run.signal.reason],
  ['an error that it caused', (run) => new Error('upload stopped', { cause: run.signal.reason })],
  ['an AbortError', () => new DOMException('This operation was aborted', 'AbortError')],
])('X3: a run that rejects with %s after the stop is released, not failed', async (_what, make) => {
  await using bench = await setup()
  const { mill } = bench
  let begun = false
  const worker = mill.worker().handle(visit, async (_name, run) => {
    begun = true
    await new Promise((resolve) => {
      run.signal.addEventListener('abort', resolve)
    })
    throw make(run)
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => begun)
  await worker.stop()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0, run: 1 })
})

test('X3: a library that takes the signal releases its run by itself', async () => {
  await using bench = await setup()
  const { mill } = bench
  let begun = false
  const worker = mill.worker().handle(visit, async (_name, run) => {
    const waiting = pause(600_000, 'x', { signal: run.signal })
    begun = true
    return waiting
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => begun)
  await worker.stop()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0 })
})

test('X3: an AbortError before any stop is a failure like others', async () => {
  await using bench = await setup()
  const { mill } = bench
  const worker = mill.worker().handle(visit, () => {
    throw new DOMException('This operation was aborted', 'AbortError')
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'dead')
})

test('X3: nothing is claimed after the stop, and what a claim under way brings goes back', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const started: string[] = []
  const worker = mill.worker().handle(visit, (name) => {
    started.push(name)
    return name
  })
  await worker.start()
  using statements = watchStatements(schema)
  await statements.quiet()
  // The claim takes the rows and waits for this lock before it can take the leases.
  const blocker = await bench.session()
  await blocker.query('begin')
  await blocker.query('lock table leases in share row exclusive mode')
  // In bulk, since a resting worker would start a single one as it is written.
  const [asked] = await mill.enqueueMany(visit, ['x'])
  const id = asked?.id ?? ''
  const claiming = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name = 'millrace claim'`
  await until(async () => (await sql.query(claiming)).rows.length === 1)
  const stopped = worker.stop()
  await blocker.query('commit')
  await stopped
  await mill.enqueue(visit, 'y')

  expect(started).toEqual([])
  expect(await places(sql, schema)).toMatchObject({ ready: 2, leases: 0 })
  expect(await collect(mill.jobs.journal(id))).toMatchObject([{ outcome: 'released', run: 1 }])
  await assertOnePlace(sql, schema)
})

test('X3: a second stop releases at once, and both resolve together', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'long')
  await worker.start()
  await until(() => runs.now === 1)
  const first = worker.stop()
  const second = worker.stop()
  await Promise.all([first, second])
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0 })
})

test('X3: a grace of nothing releases at once', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'long')
  await worker.start()
  await until(() => runs.now === 1)
  await worker.stop({ grace: 0 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0 })
})

test('X3: leases are renewed until the grace is over', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  using runs = gate()
  const worker = mill.worker({ grace: '5m' }).handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'long', { lease: '30s' })
  await worker.start()
  await until(() => runs.now === 1)
  const stopped = worker.stop()
  for (let passed = 0; passed < 100_000; passed += 8_000) {
    clock.advance(8_000)
    await until(async () => {
      const job = await mill.jobs.get(id)
      return job?.state === 'running' && job.leaseEndsAt.getTime() >= clock.now() + 20_000
    })
  }
  runs.open()
  await stopped
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1 })
})

test('X3: closing the client stops its workers first', async () => {
  const bench = await setup()
  const { mill } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => runs.now === 1)
  const closed = mill.close()
  runs.open()
  await closed
  const { rows } = await bench.sql.query('select state from finished where job_id = $1', [id])
  expect(rows).toEqual([{ state: 'completed' }])
  await bench.close()
})
