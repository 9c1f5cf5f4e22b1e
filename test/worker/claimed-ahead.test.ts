import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { WorkerOptions } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import type { Gate } from '../support/gate.ts'
import { assertOnePlace, assertRunsRecordedOnce, manualSetup, places } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })
const once = defineJob('once', { input: typed<number>(), retry: { failures: 1 } })

// As many runs as there are slots show the pace; what comes after them waits at the gate.
const SLOTS = 2
const QUICK = 4
const JOBS = 20

/** Two runs at the gate, and behind them in line what was claimed ahead. */
async function inLine(bench: ManualSetup, runs: Gate, options: WorkerOptions = {}) {
  const { mill, sql, schema } = bench
  const jobs = await mill.enqueueMany(visit, numbers(JOBS))
  const worker = mill
    .worker({ concurrency: SLOTS, ...options })
    .handle(visit, (number) => (number < QUICK ? undefined : runs.enter(String(number))))
  await worker.start()
  await until(() => runs.now === SLOTS)
  await until(async () => (await places(sql, schema)).finished === QUICK)
  return { worker, ids: jobs.map(({ id }) => id) }
}

test('while runs are short more is claimed than there are slots, and runs in its order', async () => {
  await using bench = await manualSetup()
  const { sql, schema } = bench
  using runs = gate()
  await inLine(bench, runs)
  expect(await places(sql, schema)).toEqual({ jobs: JOBS, ready: 0, leases: 16, finished: QUICK })
  expect(runs.names).toEqual(['4', '5'])
  runs.open()
  await until(async () => (await places(sql, schema)).finished === JOBS)
  expect(runs.names).toEqual(numbers(JOBS).slice(QUICK).map(String))
  await assertRunsRecordedOnce(sql, schema)
})

test('short runs that were claimed together are written together', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema } = bench
  const jobs = 1_500
  await mill.enqueueMany(visit, numbers(jobs))
  using statements = watchStatements(schema)
  // Four slots: without it they would be written four by four.
  await using worker = mill.worker({ concurrency: 4 }).handle(visit, () => undefined)
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === jobs)
  const claims = statements.count('claim_jobs')
  expect(statements.count('complete_alike_runs')).toBeLessThanOrEqual(claims * 2)
  await assertRunsRecordedOnce(sql, schema)
})

test('ahead: 0 claims only what there are slots for', async () => {
  await using bench = await manualSetup()
  using runs = gate()
  await inLine(bench, runs, { ahead: 0 })
  const { leases, ready } = await places(bench.sql, bench.schema)
  expect({ leases, ready }).toEqual({ leases: SLOTS, ready: JOBS - QUICK - SLOTS })
})

test('X3: what waits in line when the worker stops goes back to its place without a failure', async () => {
  await using bench = await manualSetup()
  const { sql, schema } = bench
  using runs = gate()
  const { worker } = await inLine(bench, runs)
  const stopped = worker.stop()
  await until(async () => (await places(sql, schema)).ready === 14)
  runs.open()
  await stopped
  expect(await places(sql, schema)).toEqual({ jobs: JOBS, ready: 14, leases: 0, finished: 6 })
  const { rows } = await sql.query('select distinct reason, failures, run from ready')
  expect(rows).toEqual([{ reason: 'release', failures: 0, run: 1 }])
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('X1: a job that is cancelled while it waits in line never runs', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  using runs = gate()
  const { ids } = await inLine(bench, runs)
  const id = ids.at(-1) ?? ''
  await mill.jobs.cancel(id, { by: 'ops' })
  await until(async () => (await mill.jobs.get(id))?.state === 'cancelled')
  runs.open()
  await until(async () => (await places(bench.sql, bench.schema)).finished === JOBS)
  expect(runs.names).not.toContain('19')
})

test('C5: what waits in line of a queue that is paused goes back, and runs once it is resumed', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema } = bench
  using runs = gate()
  await inLine(bench, runs)
  await mill.queues.pause('default')
  await until(async () => (await places(sql, schema)).ready === 14)
  runs.open()
  await until(async () => (await places(sql, schema)).finished === 6)
  expect(runs.names).toEqual(['4', '5'])
  await mill.queues.resume('default')
  await until(async () => (await places(sql, schema)).finished === JOBS)
  await assertRunsRecordedOnce(sql, schema)
})

test('what waits far longer than was foreseen goes back, so that another worker can have it', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql, schema } = bench
  using runs = gate()
  using elsewhere = gate()
  await inLine(bench, runs)
  const other = mill.worker({ concurrency: 3 }).handle(visit, (n) => elsewhere.enter(String(n)))
  await other.start()
  clock.advance(1_000)
  await until(() => elsewhere.now === 3)
  expect(runs.now).toBe(SLOTS)
  expect((await places(sql, schema)).leases).toBe(SLOTS + 3)
})

test('jobs whose next failure would be the last are claimed only for free slots', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema } = bench
  using runs = gate()
  await mill.enqueueMany(once, numbers(JOBS))
  const worker = mill
    .worker({ concurrency: SLOTS })
    .handle(once, (number) => (number < QUICK ? undefined : runs.enter(String(number))))
  await worker.start()
  await until(() => runs.now === SLOTS)
  await until(async () => (await places(sql, schema)).finished === QUICK)
  expect((await places(sql, schema)).leases).toBe(SLOTS)
})

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
