import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { gate } from '../support/gate.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  databaseOfFile,
  places,
  setup,
} from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>(), result: typed<string>() })

test('C6: a resting worker starts what its own client enqueues with the very statement', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  await using worker = mill.worker().handle(visit, (name) => name)
  await worker.start()
  await resting(t)
  using statements = watchStatements(schema)
  const { id, outcome } = await mill.enqueue(visit, 'a')
  expect(outcome).toBe('inserted')
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(statements.count('enqueue_starting_jobs')).toBe(1)
  expect(statements.count('claim_jobs')).toBe(0)
  expect(await mill.jobs.get(id)).toMatchObject({
    state: 'completed',
    run: 1,
    failures: 0,
    worker: worker.id,
    result: 'a',
  })
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('C6: what may wait, may be there already or is for somebody else goes into line', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const other = defineJob('other')
  await using worker = mill.worker({ queues: ['default', 'paused'] }).handle(visit, (name) => name)
  await worker.start()
  await mill.queues.pause('paused')
  await resting(t)
  using statements = watchStatements(schema)
  await mill.enqueue(visit, 'later', { delay: '1m' })
  await mill.enqueue(visit, 'keyed', { dedup: 'k' })
  await mill.enqueue(visit, 'expires', { expires: '1m' })
  await mill.enqueue(visit, 'elsewhere', { queue: 'elsewhere' })
  await mill.enqueue(visit, 'paused', { queue: 'paused' })
  await mill.enqueue(other)
  await mill.enqueueMany(visit, ['a', 'b'])
  await sql.query('begin')
  await mill.in(sql).enqueue(visit, 'in a transaction')
  await sql.query('commit')
  await until(async () => (await places(sql, schema)).finished === 5)
  expect(statements.count('enqueue_starting_jobs')).toBe(0)
})

test('C1, C4: of what is asked together the best level starts, as many as fit; the rest waits its turn', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  using runs = gate()
  const seen = async (name: string): Promise<string> => {
    await runs.enter(name)
    return name
  }
  await using worker = mill.worker({ concurrency: 3 }).handle(visit, seen, { concurrency: 2 })
  await worker.start()
  await resting(t)
  const levels = ['low', 'normal', 'high', 'normal'] as const
  await Promise.all(
    levels.map((priority, n) => mill.enqueue(visit, `${priority} ${n}`, { priority })),
  )
  await until(() => runs.now === 2)
  expect(runs.names).toEqual(['high 2', 'normal 1'])
  expect(await places(sql, schema)).toMatchObject({ ready: 2, leases: 2 })
  runs.open()
  await until(async () => (await places(sql, schema)).finished === 4)
  expect(runs.most).toBe(2)
  expect(runs.names).toEqual(['high 2', 'normal 1', 'normal 3', 'low 0'])
})

test('C8: a start whose answer was lost goes back to its place, and runs as any other', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  const { mill, sql, schema } = t
  await using worker = mill.worker({ poll: '1s' }).handle(visit, (name) => name)
  await worker.start()
  await resting(t)
  const lost = proxy.loseAnswer('enqueue_starting_jobs')
  const asked = mill.enqueue(visit, 'a')
  await lost
  const { id, outcome } = await asked
  expect(outcome).toBe('inserted')
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 2, failures: 0 })
  expect(await collect(mill.jobs.journal(id))).toMatchObject([
    { outcome: 'released', run: 1 },
    { outcome: 'completed', run: 2 },
  ])
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('C8: a start that failed is repeated into line, and its slot is free again', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  await using worker = mill.worker({ concurrency: 1 }).handle(visit, (name) => name)
  await worker.start()
  await resting(t)
  // Only a lease that is as old as its job is refused: that of a start, not that of a claim.
  await sql.query(
    `create function refuse() returns trigger language plpgsql as $$
       begin raise exception 'not now' using errcode = '40001'; end $$;
     create trigger refuse before insert on leases for each row when (new.run = 1 and new.due_at = new.started_at)
       execute function refuse()`,
  )
  using statements = watchStatements(schema)
  const { id } = await mill.enqueue(visit, 'a')
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1 })
  const asked = statements.names.filter((name) => name.startsWith('enqueue_'))
  expect(asked).toEqual(['enqueue_starting_jobs', 'enqueue_alike_jobs'])
})

test('L2: a start that is answered when its lease is over begins no run', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  await using direct = await setup({ schema: t.schema })
  const { sql } = direct
  const short = defineJob('short', { lease: '1s' })
  const began: number[] = []
  await using worker = t.mill.worker().handle(short, (_input, run) => void began.push(run.number))
  await worker.start()
  await resting(t)
  await sql.query('begin; lock table leases in share mode')
  const asked = t.mill.enqueue(short)
  const blocked = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name like 'millrace enqueue%'`
  await until(async () => (await sql.query(blocked)).rows.length > 0)
  proxy.delay(Number.POSITIVE_INFINITY)
  await sql.query('commit')
  const over = `select from leases where lease_ends_at < clock_timestamp()`
  await until(async () => (await sql.query(over)).rows.length === 1)
  proxy.delay(0)
  const { id } = await asked
  await until(async () => (await places(sql, t.schema)).finished === 1)
  expect(await direct.mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 2 })
  expect(began).toEqual([2])
})

test('X3: a start that is answered after the stop goes back without a run', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const began: string[] = []
  const worker = mill.worker().handle(visit, (name) => {
    began.push(name)
    return name
  })
  await worker.start()
  await resting(t)
  const holder = await t.session()
  await holder.query('begin; lock table leases in share mode')
  const asked = mill.enqueue(visit, 'a')
  const blocked = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name like 'millrace enqueue%'`
  await until(async () => (await sql.query(blocked)).rows.length > 0)
  const stopped = worker.stop()
  await holder.query('rollback')
  const { id } = await asked
  await stopped
  expect(began).toEqual([])
  expect(await places(sql, schema)).toMatchObject({ ready: 1, leases: 0 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0 })
  await assertRunsRecordedOnce(sql, schema)
})

test('a run that was started with its ask finds nothing of the caller’s context', async () => {
  await using t = await setup()
  const { mill } = t
  const context = new AsyncLocalStorage<string>()
  const found: (string | undefined)[] = []
  await using worker = mill.worker().handle(visit, (name) => {
    found.push(context.getStore())
    return name
  })
  await worker.start()
  await resting(t)
  using statements = watchStatements(t.schema)
  await context.run('of the caller', () => mill.enqueue(visit, 'a'))
  await until(() => found.length === 1)
  expect(statements.count('enqueue_starting_jobs')).toBe(1)
  expect(found).toEqual([undefined])
})

/** The worker has looked for work, found none, and sleeps. */
async function resting({ schema }: Setup): Promise<void> {
  using statements = watchStatements(schema)
  await statements.quiet(300)
}
