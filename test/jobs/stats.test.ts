import { expect, test } from 'vitest'
import { defineJob, GiveUp, typed } from '../../src/index.ts'
import type { QueueStats, Stats } from '../../src/index.ts'
import { assertOnePlace, manualSetup, setup } from '../support/mill.ts'
import { endlessly } from '../support/endlessly.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit')
const guest = defineJob('guest', { queue: 'mail' })

const NONE = { value: 0, exact: true }

test('H5: with nothing there everything is zero', async () => {
  await using t = await manualSetup()
  expect(await t.mill.jobs.stats()).toEqual({
    at: new Date(t.clock.now()),
    total: {
      due: NONE,
      scheduled: NONE,
      retrying: NONE,
      paused: NONE,
      running: 0,
      dead: NONE,
      oldestDueAt: null,
      perMinute: { completed: 0, failed: 0, enqueued: 0 },
    },
    queues: [],
    workers: { alive: 0, slots: 0, busy: 0 },
  })
})

test('H5: each job counts once, where it stands, by queue and kind', async () => {
  await using t = await manualSetup()
  const { mill, clock, sql } = t
  const since = new Date(clock.now())
  await mill.enqueue(visit)
  await mill.enqueue(visit, undefined, { priority: 'high' })
  for (const reason of [null, 'retry', 'recover', 'pause', 'release']) {
    const { id } = await mill.enqueue(visit, undefined, { delay: '1h' })
    await sql.query('update ready set reason = $2 where job_id = $1', [id, reason])
  }
  // Due again: it waits for nothing but a worker, whatever brought it back.
  const { id } = await mill.enqueue(visit)
  await sql.query(`update ready set reason = 'retry' where job_id = $1`, [id])
  await mill.enqueue(visit, undefined, { expires: '1s' })
  await mill.enqueue(guest)
  await mill.enqueue(guest)
  await mill.enqueue(guest)
  clock.advance(1_000)
  const [running, dead] = await mill.claim({ kinds: [guest], queues: ['mail'], limit: 2 })
  expect(running).toBeDefined()
  await dead?.fail(new Error('no'))

  const { total, queues } = await mill.jobs.stats()

  expect(queues).toEqual([
    {
      queue: 'default',
      kind: 'visit',
      due: { value: 3, exact: true },
      scheduled: { value: 2, exact: true },
      retrying: { value: 2, exact: true },
      paused: { value: 1, exact: true },
      running: 0,
      dead: NONE,
      oldestDueAt: since,
      perMinute: { completed: 0, failed: 0, enqueued: 0 },
    },
    {
      queue: 'mail',
      kind: 'guest',
      due: { value: 1, exact: true },
      scheduled: NONE,
      retrying: NONE,
      paused: NONE,
      running: 1,
      dead: { value: 1, exact: true },
      oldestDueAt: since,
      perMinute: { completed: 0, failed: 0, enqueued: 0 },
    },
  ])
  expect(total).toMatchObject({ due: { value: 4, exact: true }, running: 1, oldestDueAt: since })
})

test('H5: a backlog is exact to 100 000, and beyond it at least so much', async () => {
  await using t = await manualSetup()
  const fill = (count: number) =>
    t.sql.query(
      `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
       select gen_random_uuid()::text, 'default', 'visit', $1, 1, 0, 0, i % 10
       from generate_series(1, $2::int) i`,
      [new Date(t.clock.now()), count],
    )
  await t.mill.enqueue(visit, undefined, { delay: '1h' })
  await fill(100_000)
  expect(await only(t.mill.jobs.stats())).toMatchObject({
    due: { value: 100_000, exact: true },
    scheduled: { value: 1, exact: true },
  })
  await fill(1)
  expect(await only(t.mill.jobs.stats())).toMatchObject({
    due: { value: 100_001, exact: false },
    scheduled: { value: 1, exact: true },
  })
}, 60_000)

test('H5: everything is of one snapshot: while jobs move none is counted twice or left out', async () => {
  await using t = await setup()
  const { mill } = t
  const seen = new Set<number>()
  await mill.enqueueMany(
    visit,
    Array.from({ length: 50 }, () => undefined),
  )
  const moving = endlessly(async () => {
    const claimed = await mill.claim({ kinds: [visit], limit: 20 })
    await Promise.all(claimed.map((each) => each.release()))
  })
  for (let look = 0; look < 100; look += 1) {
    const { total } = await mill.jobs.stats()
    seen.add(total.due.value + total.running)
  }
  await moving.stop()
  expect([...seen]).toEqual([50])
  await assertOnePlace(t.sql, t.schema)
})

test('H5: throughput is what clients counted in the last minute, told every ten seconds', async () => {
  await using t = await manualSetup()
  const { mill, clock, sql } = t
  const flaky = defineJob('flaky', { input: typed<number>() })
  for (const n of [1, 2, 3]) await mill.enqueue(flaky, n)
  const handles = await mill.claim({ kinds: [flaky], limit: 3 })
  const rows = async () => (await sql.query('select * from rollups')).rows
  await handles[0]?.complete()
  await handles[1]?.retry({ error: new Error('again') })
  await handles[2]?.fail(new Error('never'))
  clock.advance(9_999)
  expect(await rows()).toEqual([])
  clock.advance(1)
  await until(async () => (await rows()).length === 1)
  const perMinute = { enqueued: 3, completed: 1, failed: 2 }
  expect(await rows()).toMatchObject([{ queue: 'default', kind: 'flaky', ...perMinute }])
  expect(await only(mill.jobs.stats())).toMatchObject({ perMinute })
  clock.advance(60_000)
  expect((await mill.jobs.stats()).total.perMinute).toEqual({
    enqueued: 0,
    completed: 0,
    failed: 0,
  })
})

test('H5: what was counted is told when the client closes, by whatever path it was enqueued and run', async () => {
  await using t = await setup()
  const other = await setup({ schema: t.schema })
  const chain = defineJob('chain', { input: typed<number>() })
  const worker = other.mill.worker().handle(chain, async (left, run) => {
    if (left === 0) throw new GiveUp('no more')
    if (left > 1) await run.enqueue(chain, left - 1)
    else await run.transaction(async (tx) => tx.enqueue(chain, 0))
  })
  await worker.start()
  await other.mill.enqueueMany(chain, [3])
  await until(async () => (await t.mill.jobs.stats()).total.dead.value === 1)
  expect((await t.mill.jobs.stats()).total.perMinute.enqueued).toBe(0)
  await other.close()
  expect((await t.mill.jobs.stats()).total.perMinute).toEqual({
    enqueued: 4,
    completed: 3,
    failed: 1,
  })
})

test('H5: a client that did nothing appends nothing, and a repeated ask counts once', async () => {
  await using t = await setup()
  const idle = await setup({ schema: t.schema })
  await idle.mill.jobs.stats()
  await idle.close()
  const asking = await setup({ schema: t.schema })
  const { id } = await asking.mill.enqueue(visit)
  await asking.mill.enqueue(visit, undefined, { id })
  await asking.close()
  const { rows } = await t.sql.query('select enqueued from rollups')
  expect(rows).toEqual([{ enqueued: 1 }])
})

test('H5: counts that could not be appended are appended later', async () => {
  await using t = await manualSetup()
  const { mill, clock, sql } = t
  await mill.enqueue(visit)
  await sql.query('alter table rollups rename to hidden')
  clock.advance(10_000)
  await until(() => clock.timers === 1)
  await sql.query('alter table hidden rename to rollups')
  await mill.enqueue(visit)
  clock.advance(10_000)
  await until(async () => {
    const { rows } = await sql.query('select enqueued from rollups')
    return rows[0]?.enqueued === 2
  })
})

test('H5: maintenance removes rollups that are older than an hour', async () => {
  await using t = await manualSetup()
  await t.sql.query(
    `insert into rollups (at, queue, kind, enqueued, completed, failed)
     values ($1, 'old', 'k', 1, 1, 1), ($2, 'kept', 'k', 1, 1, 1)`,
    [new Date(t.clock.now() - 3_600_001), new Date(t.clock.now() - 3_600_000)],
  )
  await t.mill
    .worker()
    .handle(visit, () => undefined)
    .start()
  await until(async () => {
    const { rows } = await t.sql.query('select queue from rollups')
    expect(rows).toEqual([{ queue: 'kept' }])
    return true
  })
})

test('H5: workers that were seen within two minutes count, with their slots', async () => {
  await using t = await manualSetup()
  const row = (worker: string, ago: number) =>
    t.sql.query(
      `insert into workers (worker, started_at, seen_at, concurrency, busy, queues, kinds)
       values ($1, $2, $2, 5, 2, '{}', '{}')`,
      [worker, new Date(t.clock.now() - ago)],
    )
  await row('lost', 120_000)
  await row('one', 119_999)
  await row('two', 0)
  const { workers } = await t.mill.jobs.stats()
  expect(workers).toEqual({ alive: 2, slots: 10, busy: 4 })
})

/** The one queue and kind there is. */
async function only(stats: Promise<Stats>): Promise<QueueStats | undefined> {
  const { queues } = await stats
  expect(queues).toHaveLength(1)
  return queues[0]
}
