import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { places, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })

test('C5: a paused queue is not claimed from, its jobs stay, and it goes on when it is resumed', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const started: string[] = []
  await mill.queues.pause('mail')
  await mill.enqueue(visit, 'held', { queue: 'mail' })
  await mill.enqueue(visit, 'free', { queue: 'rest' })
  const worker = mill.worker({ queues: ['mail', 'rest'] }).handle(visit, (name) => {
    started.push(name)
  })
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(started).toEqual(['free'])
  await mill.queues.resume('mail')
  await until(() => started.length === 2)
  expect(started).toEqual(['free', 'held'])
})

test('C5: runs that began go on when their queue is paused', async () => {
  await using t = await setup()
  const { mill } = t
  const runs = gate()
  const { id } = await mill.enqueue(visit, 'long')
  const worker = mill.worker({ concurrency: 1 }).handle(visit, runs.enter)
  await worker.start()
  await until(() => runs.now === 1)
  await mill.queues.pause('default')
  const behind = await mill.enqueue(visit, 'behind')
  runs.open()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await mill.jobs.get(behind.id)).toMatchObject({ state: 'pending', waiting: 'due' })
})

// They wait for the most part: beside each other.
test.concurrent.each(['listen', 'poll'] as const)(
  'C5: another client learns a pause and a resume within a second (%s)',
  async (wake) => {
    await using t = await setup({ wake })
    await using other = await setup({ schema: t.schema, wake })
    const started: string[] = []
    const worker = t.mill.worker().handle(visit, (name) => {
      started.push(name)
    })
    await worker.start()
    await other.mill.enqueue(visit, 'first')
    await until(() => started.length === 1)
    const delays: number[] = []
    for (let round = 0; round < 3; round += 1) {
      await other.mill.queues.pause('default')
      // A second and what a busy machine adds; the pause is known then, so nothing is claimed.
      await until(async () => (await elapsed(t, 'default')) > 1_200)
      const before = started.length
      await other.mill.enqueue(visit, 'held')
      await until(async () => (await places(t.sql, t.schema)).ready === 1)
      expect(started).toHaveLength(before)
      const resumed = performance.now()
      await other.mill.queues.resume('default')
      await until(() => started.length > before)
      delays.push(performance.now() - resumed)
    }
    expect(Math.max(...delays)).toBeLessThan(5_000)
    if (process.env['MEASURE'] === 'yes') process.stdout.write(`${wake}: ${delays.join(' ')} ms\n`)
  },
)

/** How long the queue has been paused, by the database's clock. */
async function elapsed({ sql }: Awaited<ReturnType<typeof setup>>, queue: string): Promise<number> {
  const { rows } = await sql.query<{ ms: number }>(
    `select (extract(epoch from clock_timestamp() - paused_at) * 1000)::float8 as ms
     from queues where queue = $1`,
    [queue],
  )
  return rows[0]?.ms ?? 0
}

test('C5: a paused queue with due jobs costs an idle worker nothing', async () => {
  await using t = await setup()
  const { mill, schema } = t
  await mill.queues.pause('default')
  await mill.enqueueMany(visit, ['a', 'b', 'c'])
  const worker = mill.worker().handle(visit, () => undefined)
  await worker.start()
  using statements = watchStatements(schema)
  await statements.quiet(400)
  const before = statements.names.length
  await statements.quiet(400)
  expect(statements.names.length - before).toBeLessThanOrEqual(1)
})

test('queues.list names the queues that wait, that are paused, and that workers claim from', async () => {
  await using t = await setup()
  const { mill, sql } = t
  expect(await mill.queues.list()).toEqual([])
  await mill.enqueueMany(visit, ['a', 'b'], { queue: 'mail' })
  await mill.enqueue(visit, 'c', { queue: 'a queue' })
  await mill.queues.pause('held')
  const worker = mill.worker({ queues: ['worked'] }).handle(visit, () => undefined)
  await worker.start()
  await until(async () => (await sql.query('select 1 from workers')).rows.length === 1)
  expect(await mill.queues.list()).toEqual([
    { queue: 'a queue', paused: false, pausedSince: null },
    { queue: 'held', paused: true, pausedSince: expect.any(Date) },
    { queue: 'mail', paused: false, pausedSince: null },
    { queue: 'worked', paused: false, pausedSince: null },
  ])
})

test('pausing twice keeps the first instant, resuming what is not paused is no error', async () => {
  await using t = await setup()
  const { mill } = t
  await mill.queues.pause('mail')
  const [first] = await mill.queues.list()
  await mill.queues.pause('mail')
  expect(await mill.queues.list()).toEqual([first])
  await mill.queues.resume('mail')
  await mill.queues.resume('mail')
  await mill.queues.resume('never heard of')
  expect(await mill.queues.list()).toEqual([{ queue: 'mail', paused: false, pausedSince: null }])
  await mill.queues.pause('mail')
  const [again] = await mill.queues.list()
  expect(again?.pausedSince?.getTime()).toBeGreaterThanOrEqual(first?.pausedSince?.getTime() ?? 0)
})

test.each(['', ' ', 'a\0b', 'millrace.own', 'x'.repeat(201)])(
  '%j is no name of a queue',
  async (name) => {
    await using t = await setup()
    for (const verb of ['pause', 'resume'] as const) {
      await expect(t.mill.queues[verb](name)).rejects.toThrow('cannot be a queue')
    }
    await expect(t.mill.queues.set(name, {})).rejects.toThrow('cannot be a queue')
  },
)
