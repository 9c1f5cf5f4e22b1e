import { expect, test } from 'vitest'
import { defineJob, LeaseLostError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, assertRunsRecordedOnce, manualSetup, places } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { notices } from '../support/notices.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  result: typed<string>(),
  lease: '30s',
  retry: { backoff: { type: 'fixed', base: '1s', jitter: 0 } },
})

/** Two clients in one schema, each with a clock of its own: the first can stall while time passes for the second. */
async function twoClients(): Promise<{ first: ManualSetup; second: ManualSetup }> {
  const first = await manualSetup()
  const second = await manualSetup({ schema: first.schema })
  return { first, second }
}

test('replay 8: a run whose lease ended and whose job another worker took is refused; the other result stands', async () => {
  const { first, second } = await twoClients()
  await using _first = first
  await using _second = second
  using stalled = gate()
  using told = notices(first.schema)
  const { id } = await first.mill.enqueue(visit, 'x')
  const slow = first.mill.worker().handle(visit, async () => {
    await stalled.enter('slow')
    return 'of the first'
  })
  await slow.start()
  await until(() => stalled.now === 1)

  const quick = second.mill.worker().handle(visit, () => 'of the second')
  await quick.start()
  await until(async () => {
    second.clock.advance(1_000)
    return (await places(second.sql, second.schema)).finished === 1
  })

  stalled.open()
  await until(() => told.messages.some((message) => message.startsWith('a run lost its lease')))
  expect(await second.mill.jobs.get(id)).toMatchObject({
    state: 'completed',
    run: 2,
    failures: 1,
    result: 'of the second',
    worker: quick.id,
  })
  await assertOnePlace(second.sql, second.schema)
  await assertRunsRecordedOnce(second.sql, second.schema)
})

test('L2: a run that lost its job is told so by its next renewal, and what it throws then is not recorded', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  const runs: Run[] = []
  const worker = mill.worker().handle(visit, async (_input, run) => {
    runs.push(run)
    await new Promise((_resolve, reject) => {
      run.signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
    })
    return 'never'
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => runs.length === 1)
  await sql.query(`update leases set worker = 'another', run = 2`)
  clock.advance(10_000)
  await until(() => runs[0]?.signal.aborted === true)
  expect(runs[0]?.signal.reason).toBeInstanceOf(LeaseLostError)
  expect(runs[0]?.signal.reason).toMatchObject({ id, run: 1, code: 'LEASE_LOST' })

  await worker.stop()
  expect(await places(sql, schema)).toMatchObject({ leases: 1, finished: 0, ready: 0 })
  const { rows } = await sql.query('select * from journal')
  expect(rows).toEqual([])
})

test('L2: a worker that cannot renew aborts its runs before their leases end', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  const runs: Run[] = []
  using stays = gate()
  const worker = mill.worker().handle(visit, async (input, run) => {
    runs.push(run)
    await stays.enter(input)
    return 'late, but nobody took it'
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => runs.length === 1)
  const signal = runs[0]?.signal
  const other = await bench.session()
  await other.query('begin')
  await other.query('lock table leases in access exclusive mode')
  // The renewal hangs; the run is told all the same, and in time.
  clock.advance(10_000)
  await until(async () => (await waiters(bench)) > 0)
  clock.advance(19_800)
  expect(signal?.aborted).toBe(false)
  clock.advance(100)
  expect(signal?.reason).toBeInstanceOf(LeaseLostError)

  await other.query('rollback')
  stays.open()
  // A lease that ended and that nobody took still settles.
  await until(async () => (await places(sql, bench.schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1 })
})

test('race 20: after a failover that forgot the claim, the old worker settles nothing of a run with the same number', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema } = bench
  using runs = gate()
  using told = notices(schema)
  const worker = mill.worker().handle(visit, async (input) => {
    await runs.enter(input)
    return 'old'
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => runs.now === 1)
  // As the new primary has it: never claimed by the first, claimed by another.
  await sql.query(`update leases set worker = 'another:1:worker'`)
  runs.open()
  await until(() => told.messages.some((message) => message.startsWith('a run lost its lease')))
  expect(await mill.jobs.get(id)).toMatchObject({
    state: 'running',
    run: 1,
    worker: 'another:1:worker',
  })
  expect(await places(sql, schema)).toMatchObject({ leases: 1, finished: 0 })
})

test('L2: a lost run whose handler goes on keeps its slot, and stop does not wait for it', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock } = bench
  using runs = gate()
  const worker = mill.worker({ concurrency: 1, grace: 0 }).handle(visit, async (input) => {
    await runs.enter(input)
    return 'x'
  })
  await mill.enqueue(visit, 'lost')
  await worker.start()
  await until(() => runs.now === 1)
  await sql.query(`update leases set worker = 'another'`)
  using statements = watchStatements(bench.schema)
  clock.advance(10_000)
  await mill.enqueue(visit, 'next')
  await statements.quiet()
  expect(runs.names).toEqual(['lost'])
  await worker.stop()
  expect(await places(sql, bench.schema)).toMatchObject({ leases: 1, ready: 1 })
})

async function waiters({ sql }: ManualSetup): Promise<number> {
  const { rows } = await sql.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}
