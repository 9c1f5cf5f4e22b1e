import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import type { Worker } from '../../src/worker/worker.ts'
import { gate } from '../support/gate.ts'
import type { Gate } from '../support/gate.ts'
import { assertOnePlace, manualSetup, places, setup } from '../support/mill.ts'
import type { ManualSetup, SetupOptions } from '../support/mill.ts'
import { isListening } from '../support/sums.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const input = typed<{ n: number }>()
const build = defineJob('build', { input, dedup: { key: 'k', scope: 'live', rerun: true } })

interface Bench extends ManualSetup {
  readonly id: string
  readonly runs: Gate
  readonly worker: Worker
}

/** A run under way behind a gate, on a clock that nobody moves. */
async function running(options: SetupOptions = {}): Promise<Bench> {
  const t = await manualSetup(options)
  const runs = gate()
  const { id } = await t.mill.enqueue(build, { n: 1 })
  const worker: Worker = t.mill.worker().handle(build, ({ n }) => runs.enter(String(n)))
  await worker.start()
  await until(() => runs.now === 1)
  if (options.wake !== 'poll') await until(() => isListening(t))
  return { ...t, id, runs, worker }
}

test('D1, rerun: what is asked while the job runs runs once after it, at once, with the last input', async () => {
  await using t = await running()
  const first = await t.mill.enqueue(build, { n: 2 })
  expect(first).toMatchObject({ outcome: 'inserted', id: first.asked })
  const second = await t.mill.enqueue(build, { n: 3 })
  expect(second).toMatchObject({ id: first.id, outcome: 'replaced' })
  const again = await t.mill.enqueue(build, { n: 9 }, { id: second.asked })
  expect(again).toMatchObject({ id: first.id, outcome: 'kept' })
  expect(await t.mill.jobs.get(first.id)).toMatchObject({ state: 'pending', waiting: 'scheduled' })
  t.clock.advance(30_000)
  expect(t.runs.names).toEqual(['1'])
  t.runs.open()
  await until(() => t.runs.names.length === 2)
  expect(t.runs.names).toEqual(['1', '3'])
  expect(t.runs.most).toBe(1)
  await until(async () => (await places(t.sql, t.schema)).finished === 2)
  await assertOnePlace(t.sql, t.schema)
})

test('D1, rerun: a repeat of what was merged begins no other rerun', async () => {
  await using t = await manualSetup()
  await t.mill.enqueue(build, { n: 1 })
  const merged = await t.mill.enqueue(build, { n: 2 })
  const runs = gate()
  await using worker = t.mill.worker().handle(build, ({ n }) => runs.enter(String(n)))
  await worker.start()
  await until(() => runs.now === 1)
  const again = await t.mill.enqueue(build, { n: 2 }, { id: merged.asked })
  expect(again).toMatchObject({ id: merged.id, outcome: 'kept' })
  runs.open()
})

test('D1, rerun: an ask that is committed after the run has ended is due then', async () => {
  await using t = await running()
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).enqueue(build, { n: 2 })
  t.runs.open()
  await until(async () => (await places(t.sql, t.schema)).finished === 1)
  await held.query('commit')
  await until(() => t.runs.names.length === 2)
})

test('D1, rerun: without hints it is due within a second', async () => {
  await using t = await running({ wake: 'poll' })
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).enqueue(build, { n: 2 })
  t.runs.open()
  await until(async () => (await places(t.sql, t.schema)).finished === 1)
  await held.query('commit')
  // Each look of the worker's, one after another: a second on its clock, twice.
  await until(
    () => {
      t.clock.advance(1_000)
      return t.runs.names.length === 2
    },
    { every: 100 },
  )
})

test('D1, rerun: a cancel that is forced ends the run, so it is due', async () => {
  await using t = await running()
  await t.mill.enqueue(build, { n: 2 })
  await t.mill.jobs.cancel(t.id, { force: true })
  await until(() => t.runs.names.length === 2)
  t.runs.open()
})

test('D1, rerun: a run that another worker lost is recovered, and then it is due', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(build, { n: 1 }, { retry: { failures: 1 } })
  await t.sql.query(`
    with gone as (delete from ready returning *)
    insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority, dedup_key)
    select job_id, 'a worker that died', queue, kind, due_at, due_at, due_at, lease_ms, 1, 0, priority, dedup_key from gone`)
  const next = await t.mill.enqueue(build, { n: 2 })
  const runs: number[] = []
  t.clock.advance(60_000)
  await using worker = t.mill.worker().handle(build, ({ n }) => void runs.push(n))
  await worker.start()
  await until(async () => (await t.mill.jobs.get(id))?.state === 'dead')
  await until(
    () => {
      t.clock.advance(1_000)
      return runs.length === 1
    },
    { every: 100 },
  )
  expect(await t.mill.jobs.get(next.id)).toMatchObject({ input: { n: 2 } })
})

test('D1, rerun: where the job that returned is claimed again before the look, the ask waits for that run', async () => {
  await using t = await manualSetup()
  using statements = watchStatements(t.schema)
  const claimed = () => t.mill.claim({ kinds: [build], limit: 5 })
  const { id } = await t.mill.enqueue(build, { n: 1 })
  const [first] = await claimed()
  const ask = await t.mill.enqueue(build, { n: 2 })
  const holder = await t.session()
  await holder.query('begin')
  await holder.query('select from ready where job_id = $1 for update', [ask.id])
  await first?.release()
  // The look after the settlement skips the ask, as one that comes too late.
  await until(() => statements.count('release_reruns_of') === 1)
  await statements.quiet()
  const [second] = await claimed()
  await holder.query('rollback')
  expect(second).toMatchObject({ id, run: 2 })
  expect(await claimed()).toEqual([])
  await second?.complete()
  const third = await until(async () => (await claimed())[0])
  expect(third).toMatchObject({ id: ask.id, input: { n: 2 } })
  await third.complete()
  await assertOnePlace(t.sql, t.schema)
})

test('D1, rerun: a worker that knows nothing of reruns makes them due too', async () => {
  await using t = await manualSetup()
  const plain = defineJob('build', { input })
  const runs = gate()
  await t.mill.enqueue(build, { n: 1 })
  await using worker = t.mill.worker().handle(plain, ({ n }) => runs.enter(String(n)))
  await worker.start()
  await until(() => runs.now === 1 && isListening(t))
  await t.mill.enqueue(build, { n: 2 })
  runs.open()
  await until(
    () => {
      t.clock.advance(1_000)
      return runs.names.length === 2
    },
    { every: 100 },
  )
})

test('D1, rerun: where none waits, workers look once a minute', async () => {
  await using t = await manualSetup()
  using statements = watchStatements(t.schema)
  await using worker = t.mill.worker().handle(build, () => undefined)
  await worker.start()
  await until(() => isListening(t))
  await statements.quiet()
  const before = statements.count('release_reruns')
  for (let second = 0; second < 120; second += 10) {
    t.clock.advance(10_000)
    await statements.quiet(50)
  }
  expect(statements.count('release_reruns') - before).toBeLessThanOrEqual(3)
})

test('D1, rerun: a queue of many keys is drained with one rerun each', async () => {
  await using t = await setup()
  const keyed = defineJob('keyed', {
    input: typed<{ key: number }>(),
    dedup: { key: ({ key }) => String(key), scope: 'live', rerun: true },
  })
  const runs = gate()
  await using worker = t.mill
    .worker({ concurrency: 20 })
    .handle(keyed, ({ key }) => runs.enter(String(key)))
  const keys = Array.from({ length: 20 }, (_, key) => ({ key }))
  await t.mill.enqueueMany(keyed, keys)
  await worker.start()
  await until(() => runs.now === 20)
  const asked = await t.mill.enqueueMany(keyed, [...keys, ...keys])
  expect(asked.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(20)
  runs.open()
  await until(async () => (await places(t.sql, t.schema)).finished === 40)
  expect(runs.names).toHaveLength(40)
})
