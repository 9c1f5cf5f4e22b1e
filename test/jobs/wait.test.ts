import { expect, test } from 'vitest'
import {
  ClosedError,
  defineJob,
  GiveUp,
  InvalidOptionError,
  typed,
  UnknownJobError,
  WaitTimeoutError,
} from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const add = defineJob('add', {
  input: typed<readonly number[]>(),
  result: typed<number>(),
  retry: { failures: 1 },
})
const UNKNOWN = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

test('H1: a job that has ended is answered at once, with its result', async () => {
  await using bench = await setup()
  const { mill } = bench
  const worker = mill.worker().handle(add, (numbers) => numbers.reduce((sum, each) => sum + each))
  await worker.start()
  const { id } = await mill.enqueue(add, [1, 2])
  expect(await mill.jobs.wait(id)).toMatchObject({ state: 'completed', result: 3 })
  using statements = watchStatements(bench.schema)
  expect(await mill.jobs.wait(add, id)).toMatchObject({ state: 'completed', result: 3 })
  expect(statements.count('ended_jobs')).toBe(0)
})

test('H1: the end is told by a wake-up: no clock has to move', async () => {
  await using bench = await manualSetup()
  const { mill, schema } = bench
  const door = gate()
  const worker = mill.worker().handle(add, async () => {
    await door.enter('run')
    return 0
  })
  await worker.start()
  const ids = await mill.enqueueMany(add, [[1], [2]])
  await until(() => door.now === 2)
  using statements = watchStatements(schema)
  const waits = ids.map(({ id }) => mill.jobs.wait(id))
  await until(() => statements.count('ended_jobs') > 0)
  await statements.quiet(500)
  door.open()
  expect(await Promise.all(waits)).toMatchObject([{ state: 'completed' }, { state: 'completed' }])
})

test('H1: a failure that is retried does not end the wait', async () => {
  await using bench = await setup()
  const { mill } = bench
  const twice = defineJob('twice', { retry: { failures: 2, backoff: { type: 'fixed', base: 50 } } })
  const worker = mill.worker().handle(twice, () => {
    throw new Error('no')
  })
  const { id } = await mill.enqueue(twice)
  const waited = mill.jobs.wait(id)
  await worker.start()
  expect(await waited).toMatchObject({ state: 'dead', reason: 'failed', failures: 2 })
})

test.each([{ wake: 'listen' }, { wake: 'poll' }] as const)(
  'H1: an end that no worker tells of is found by looking, with $wake',
  async (options) => {
    await using bench = await setup(options)
    await using other = await setup({ schema: bench.schema })
    const { mill } = bench
    const { id } = await mill.enqueue(add, [1])
    const waited = mill.jobs.wait(id)
    await other.mill.jobs.cancel(id, { by: 'ada' })
    expect(await waited).toMatchObject({ state: 'cancelled', by: 'ada' })
  },
)

test('H1: all who wait in one client are looked for in one statement, less and less often', async () => {
  await using bench = await manualSetup({ wake: 'poll' })
  const { mill, schema, clock } = bench
  const jobs = await mill.enqueueMany(
    add,
    Array.from({ length: 100 }, () => [1]),
  )
  const others = clock.timers
  using statements = watchStatements(schema)
  const waits = jobs.map(({ id }) => mill.jobs.wait(id))
  await until(() => statements.count('get_job') === 100)
  await statements.quiet()
  const before = statements.count('ended_jobs')
  expect(before).toBeLessThan(100)
  for (const pause of [1_000, 1_000, 1_000]) {
    await until(() => clock.timers === others + 1)
    clock.advance(pause)
    await statements.quiet(50)
  }
  expect(statements.count('ended_jobs') - before).toBeLessThanOrEqual(6)
  await mill.jobs.cancel(jobs.map(({ id }) => id))
  clock.advance(1_000)
  expect(await Promise.all(waits)).toHaveLength(100)
})

test('H1: after its timeout a wait is an error, and the job goes on', async () => {
  await using bench = await manualSetup()
  const { mill, clock, schema } = bench
  const { id } = await mill.enqueue(add, [1])
  using statements = watchStatements(schema)
  const waited = mill.jobs.wait(id, { timeout: '30s' }).catch((error: unknown) => error)
  await until(() => statements.count('ended_jobs') > 0)
  clock.advance(30_000)
  const error = await waited
  expect(error).toBeInstanceOf(WaitTimeoutError)
  expect(error).toMatchObject({ code: 'WAIT_TIMEOUT', id, timeoutMs: 30_000 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending' })
})

test('H1: its signal ends a wait with the reason of the signal', async () => {
  await using bench = await setup()
  const { mill } = bench
  const { id } = await mill.enqueue(add, [1])
  const stop = new AbortController()
  const waited = mill.jobs.wait(id, { signal: stop.signal }).catch((error: unknown) => error)
  stop.abort(new Error('enough'))
  expect(await waited).toMatchObject({ message: 'enough' })
  await expect(mill.jobs.wait(id, { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
})

test('H1: a job without a record, or of another kind, is unknown', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const other = defineJob('other')
  const { id } = await mill.enqueue(add, [1])
  await expect(mill.jobs.wait(UNKNOWN)).rejects.toThrow(UnknownJobError)
  await expect(mill.jobs.wait(other, id)).rejects.toThrow(UnknownJobError)
  const waited = mill.jobs.wait(id).catch((error: unknown) => error)
  await sql.query('with gone as (delete from ready) delete from jobs')
  expect(await waited).toBeInstanceOf(UnknownJobError)
})

test('H1: a client that closes rejects its waits, and leaves no timer', async () => {
  const bench = await manualSetup()
  const { mill, clock } = bench
  const { id } = await mill.enqueue(add, [1])
  using statements = watchStatements(bench.schema)
  const waited = mill.jobs.wait(id).catch((error: unknown) => error)
  await until(() => statements.count('ended_jobs') > 0)
  await bench.close()
  expect(await waited).toBeInstanceOf(ClosedError)
  expect(clock.timers).toBe(0)
})

test('H1: a kind that is none, an id that is none, and a wrong option are refused', async () => {
  await using bench = await setup()
  const { mill } = bench
  await expect(mill.jobs.wait('x')).rejects.toThrow(InvalidOptionError)
  await expect(mill.jobs.wait(UNKNOWN, { timeout: 0 })).rejects.toThrow('longer than nothing')
  const misspelt = Object.assign({ timeout: '1s' } as const, { timeoutMs: 5 })
  await expect(mill.jobs.wait(UNKNOWN, misspelt)).rejects.toThrow('Did you mean timeout?')
})

test('H1: a job that gave up ends the wait as dead', async () => {
  await using bench = await setup()
  const { mill } = bench
  const worker = mill.worker().handle(add, () => {
    throw new GiveUp('no use')
  })
  await worker.start()
  const { id } = await mill.enqueue(add, [1])
  expect(await mill.jobs.wait(id)).toMatchObject({ state: 'dead', reason: 'gave-up' })
})
