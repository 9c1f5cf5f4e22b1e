import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  databaseOfFile,
  places,
  setup,
} from '../support/mill.ts'
import { notices } from '../support/notices.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  result: typed<string>(),
  retry: { failures: 2, backoff: { type: 'fixed', base: '10m' } },
})

// Says nothing when it ends.
const look = defineJob('look', { input: typed<string>() })

test.each([
  ['complete_alike_runs', look, ['a', 'b', 'c'], { jobs: 3, ready: 0, leases: 0, finished: 3 }],
  ['complete_runs', visit, ['a', 'b', 'c'], { jobs: 3, ready: 0, leases: 0, finished: 3 }],
  ['settle_runs', visit, ['a', 'b', 'fails'], { jobs: 3, ready: 1, leases: 0, finished: 2 }],
] as const)(
  'race 15: %s that committed and whose answer was lost is found, not repeated, and nobody is told of a loss',
  async (statement, kind, names, settled) => {
    await using proxy = await proxyTo(await databaseOfFile())
    await using bench = await setup({ database: proxy.url })
    const { mill, sql, schema } = bench
    using told = notices(schema)
    using statements = watchStatements(schema)
    using runs = gate()
    const signals: AbortSignal[] = []
    const worker = mill
      .worker()
      .handle(visit, async (name, run) => {
        signals.push(run.signal)
        await runs.enter(name)
        if (name === 'fails') throw new Error('no')
        return name
      })
      .handle(look, async (name, run) => {
        signals.push(run.signal)
        await runs.enter(name)
      })
    await mill.enqueueMany<typeof look | typeof visit>(kind, names)
    await worker.start()
    await until(() => runs.now === 3)
    const lost = proxy.loseAnswer(statement)
    runs.open()
    await lost
    await until(() => statements.count('settled_runs') === 1)
    await statements.quiet()

    expect(await places(sql, schema)).toEqual(settled)
    await assertOnePlace(sql, schema)
    await assertRunsRecordedOnce(sql, schema)
    expect(statements.count(statement)).toBe(1)
    expect(told.messages.filter((message) => message.includes('lost its lease'))).toEqual([])
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false, false])
  },
)

test('O1: a settlement that did not commit is repeated until it has', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql, schema } = bench
  using told = notices(schema)
  using statements = watchStatements(schema)
  const worker = mill.worker().handle(visit, (name) => name)
  const blocker = await bench.session()
  await blocker.query('begin')
  await blocker.query('lock table finished in access exclusive mode')
  const { id } = await mill.enqueue(visit, 'a')
  await worker.start()
  const waiting = `select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name = 'millrace settle'`
  const backend = await until(async () => (await sql.query<{ pid: number }>(waiting)).rows[0])
  await sql.query('select pg_terminate_backend($1)', [backend.pid])
  await until(() => statements.count('settled_runs') >= 1)
  await blocker.query('rollback')
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1, result: 'a' })
  await assertRunsRecordedOnce(sql, schema)
  expect(told.messages.filter((message) => message.includes('lost its lease'))).toEqual([])
})

test('O1: a deadlock, a serialization failure or a full disk is no failure of the run', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  // Fails twice, then passes: what a sequence counts is not rolled back.
  await sql.query('create sequence tries')
  await sql.query(`
    create function stumble() returns trigger language plpgsql as $$
    begin
      case nextval('tries')
        when 1 then raise exception 'deadlock' using errcode = '40P01';
        when 2 then raise exception 'disk' using errcode = '53100';
        else return new;
      end case;
    end $$`)
  await sql.query(
    'create trigger stumble before insert on finished for each row execute function stumble()',
  )
  await sql.query(`alter function stumble() set search_path to ${schema}`)
  const worker = mill.worker().handle(visit, (name) => name)
  const { id } = await mill.enqueue(visit, 'a')
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1, failures: 0 })
})

test('O1: a settlement that passes only after the lease ended is no failure of the run, the job comes back', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  using told = notices(schema)
  await sql.query(`
    create function full_disk() returns trigger language plpgsql as $$
    begin
      raise exception 'disk' using errcode = '53100';
    end $$`)
  await sql.query(
    'create trigger full_disk before insert on finished for each row execute function full_disk()',
  )
  let calls = 0
  const worker = mill.worker().handle(visit, (name) => {
    calls += 1
    return name
  })
  const { id } = await mill.enqueue(visit, 'a', { lease: 500 })
  await worker.start()
  await until(() =>
    told.messages.some((message) => message.startsWith('a run could not be settled')),
  )
  await sql.query('drop trigger full_disk on finished')
  await until(async () => (await places(sql, schema)).finished === 1, { ms: 25_000 })
  expect(calls).toBe(2)
  // Its own worker put it back: a lease in its name that it does not run.
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 2, failures: 0 })
  await assertRunsRecordedOnce(sql, schema)
})
