import { expect, test } from 'vitest'
import { defineJob, UnknownJobError } from '../../src/index.ts'
import type { ExplainReport } from '../../src/index.ts'
import { makeId } from '../../src/core/id.ts'
import { gate } from '../support/gate.ts'
import { manualSetup, setup } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit')
const guest = defineJob('guest')

test('H3: a due job that a live worker has a free slot for has no reason to wait', async () => {
  await using t = await manualSetup()
  await workerRow(t, { concurrency: 1 })
  const { id } = await t.mill.enqueue(visit)
  expect(await t.mill.jobs.explain(id)).toEqual({
    id,
    state: 'pending',
    summary: 'nothing keeps a worker from claiming it from queue "default" now',
    reasons: [],
    at: new Date(t.clock.now()),
  })
})

test('H3: a job is not due, and the report says because of what', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  await workerRow(t, {})
  const { id } = await mill.enqueue(visit, undefined, { delay: '1h' })
  const dueAt = new Date(clock.now() + 3_600_000)
  const reasons = [{ code: 'not-due', dueAt, because: 'scheduled' }]
  const report = await mill.jobs.explain(id)
  expect(report.reasons).toEqual(reasons)
  expect(report.summary).toBe(
    `it is not running because it is due at ${dueAt.toISOString()} (scheduled)`,
  )

  for (const [reason, because] of [
    ['retry', 'retrying'],
    ['recover', 'retrying'],
    ['pause', 'paused'],
    ['redrive', 'scheduled'],
  ]) {
    await t.sql.query('update ready set reason = $1', [reason])
    expect((await mill.jobs.explain(id)).reasons).toEqual([{ code: 'not-due', dueAt, because }])
  }
  clock.advance(3_600_000)
  await t.sql.query('update workers set seen_at = $1', [new Date(clock.now())])
  expect((await mill.jobs.explain(id)).reasons).toEqual([])
})

test('H3: a job whose expiry has passed is expired before all else', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(visit, undefined, { expires: '1m' })
  const expiresAt = new Date(t.clock.now() + 60_000)
  expect(codes(await t.mill.jobs.explain(id))).toEqual(['no-worker'])
  t.clock.advance(60_000)
  const { reasons } = await t.mill.jobs.explain(id)
  expect(reasons[0]).toEqual({ code: 'expired', expiresAt })
})

test('H3: a paused queue is a reason, with since when', async () => {
  await using t = await manualSetup()
  await workerRow(t, {})
  await t.mill.queues.pause('default')
  const { id } = await t.mill.enqueue(visit)
  const since = new Date(t.clock.now())
  const reasons = [{ code: 'queue-paused', queue: 'default', since }]
  expect((await t.mill.jobs.explain(id)).reasons).toEqual(reasons)
  await t.mill.queues.resume('default')
  expect((await t.mill.jobs.explain(id)).reasons).toEqual([])
})

test('H3: no live worker claims the kind from the queue, or one did until lately', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  const { id } = await mill.enqueue(visit)
  await workerRow(t, { worker: 'other kind', kinds: { guest: null } })
  await workerRow(t, { worker: 'other queue', queues: { mail: null } })
  const none = { code: 'no-worker', queue: 'default', kind: 'visit', lastSeenAt: null }
  expect((await mill.jobs.explain(id)).reasons).toEqual([none])

  await workerRow(t, {})
  const lastSeenAt = new Date(clock.now())
  clock.advance(119_999)
  expect((await mill.jobs.explain(id)).reasons).toEqual([])
  clock.advance(1)
  expect((await mill.jobs.explain(id)).reasons).toEqual([{ ...none, lastSeenAt }])
})

test('H3: a cap that is reached is named: of the kind, of the queue, of the worker', async () => {
  await using t = await setup()
  const { mill } = t
  using runs = gate()
  const worker = mill
    .worker({ queues: { default: 2 }, concurrency: 3 })
    .handle(visit, (_, run) => runs.enter(run.id), { concurrency: 1 })
    .handle(guest, (_, run) => runs.enter(run.id))
  await worker.start()
  await until(async () => (await t.sql.query('select 1 from workers')).rowCount === 1)
  await mill.enqueue(visit)
  await until(() => runs.now === 1)

  const waiting = await mill.enqueue(visit)
  const ofKind = { code: 'kind-at-cap', kind: 'visit', running: 1, cap: 1 }
  expect((await mill.jobs.explain(waiting.id)).reasons).toEqual([ofKind])

  await mill.enqueue(guest)
  await until(() => runs.now === 2)
  const ofQueue = { code: 'queue-at-cap', running: 2, cap: 2 }
  expect((await mill.jobs.explain(waiting.id)).reasons).toEqual([ofQueue])

  await t.sql.query(`update workers set concurrency = 2`)
  const full = { code: 'worker-full', running: 2, cap: 2 }
  expect((await mill.jobs.explain(waiting.id)).reasons).toEqual([full])
})

test('H3: jobs that come first are counted as a claim would find them, up to 10 000 a part', async () => {
  await using t = await manualSetup()
  const { mill, clock, sql } = t
  await workerRow(t, { concurrency: 3 })
  const better = [0, 1, 2] as const
  for (const priority of better) await mill.enqueue(visit, undefined, { priority })
  await mill.enqueue(visit)
  clock.advance(1)
  const { id } = await mill.enqueue(visit)
  const ahead = async () =>
    (await mill.jobs.explain(id)).reasons.map((reason) => 'ahead' in reason && reason.ahead)
  expect(await ahead()).toEqual([{ value: 4, exact: true }])

  // None of these comes first: later, worse, not due, expired, elsewhere, of a kind nobody claims.
  clock.advance(1)
  await mill.enqueue(visit)
  await mill.enqueue(visit, undefined, { priority: 9 })
  await mill.enqueue(visit, undefined, { priority: 0, delay: '1h' })
  await mill.enqueue(visit, undefined, { priority: 0, queue: 'mail' })
  await mill.enqueue(guest, undefined, { priority: 0 })
  expect(await ahead()).toEqual([{ value: 4, exact: true }])

  await sql.query(
    `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
     select 'more ' || i, 'default', 'visit', $1, 1, 0, 0, 4 from generate_series(1, 10000) i`,
    [new Date(clock.now())],
  )
  expect(await ahead()).toEqual([{ value: 10_001, exact: false }])
})

test('H3: a job with fewer jobs before it than there are free slots may be claimed now', async () => {
  await using t = await manualSetup()
  await workerRow(t, { concurrency: 3 })
  await t.mill.enqueue(visit, undefined, { priority: 0 })
  await t.mill.enqueue(visit, undefined, { priority: 0 })
  const { id } = await t.mill.enqueue(visit)
  expect((await t.mill.jobs.explain(id)).reasons).toEqual([])
  await t.sql.query('update workers set concurrency = 2')
  expect(codes(await t.mill.jobs.explain(id))).toEqual(['behind'])
})

test('H3: an ask that waits for the running job of its key says which', async () => {
  await using t = await setup()
  const { mill } = t
  const sync = defineJob('sync', { dedup: { key: 'all', scope: 'live', rerun: true } })
  using runs = gate()
  await mill
    .worker()
    .handle(sync, (_, run) => runs.enter(run.id))
    .start()
  const first = await mill.enqueue(sync)
  await until(() => runs.now === 1)
  const second = await mill.enqueue(sync)
  const { reasons, summary } = await mill.jobs.explain(second.id)
  expect(reasons).toEqual([{ code: 'key-held', dedupKey: 'all', by: first.id }])
  expect(summary).toContain(`it waits for the end of job ${first.id}`)
})

test('H3: of a job that does not wait the report says what it does instead', async () => {
  await using t = await setup()
  const { mill } = t
  using runs = gate()
  const { id } = await mill.enqueue(visit)
  const worker = mill.worker().handle(visit, (_, run) => runs.enter(run.id))
  await worker.start()
  await until(() => runs.now === 1)
  const running = await mill.jobs.explain(id)
  expect(running).toMatchObject({ state: 'running', reasons: [] })
  expect(running.summary).toContain(`in worker ${worker.id}`)
  runs.open()
  await mill.jobs.wait(id)
  const ended = await mill.jobs.explain(id)
  expect(ended).toMatchObject({ state: 'completed', reasons: [] })
  expect(ended.summary).toMatch(/^it completed at \d{4}-/)
})

test('H3: a job that there is not is an error', async () => {
  await using t = await manualSetup()
  await expect(t.mill.jobs.explain('no id')).rejects.toThrow(UnknownJobError)
  await expect(t.mill.jobs.explain(makeId(t.clock.now()))).rejects.toThrow(UnknownJobError)
})

test('H3: what explain says nothing against, a claim takes; what it does, a claim leaves', async () => {
  await using t = await manualSetup()
  const { mill } = t
  await workerRow(t, { kinds: { visit: null, guest: null } })
  await mill.queues.pause('mail')
  const asks = [
    await mill.enqueue(visit),
    await mill.enqueue(guest, undefined, { priority: 0 }),
    await mill.enqueue(visit, undefined, { delay: 1 }),
    await mill.enqueue(visit, undefined, { queue: 'mail' }),
  ]
  const free = new Set<string>()
  for (const { id } of asks) {
    if ((await mill.jobs.explain(id)).reasons.length === 0) free.add(id)
  }
  const claimed = await mill.claim({
    kinds: [visit, guest],
    queues: ['default', 'mail'],
    limit: 10,
  })
  expect(new Set(claimed.map(({ id }) => id))).toEqual(free)
  expect(free.size).toBe(2)
})

interface WorkerRow {
  readonly worker?: string
  readonly concurrency?: number
  readonly queues?: Readonly<Record<string, number | null>>
  readonly kinds?: Readonly<Record<string, number | null>>
}

/** A worker as it would tell of itself, without one. */
async function workerRow(
  { sql, clock }: ManualSetup,
  {
    worker = 'host:1:a',
    concurrency = 10,
    queues = { default: null },
    kinds = { visit: null },
  }: WorkerRow,
): Promise<void> {
  const now = new Date(clock.now())
  await sql.query(
    `insert into workers (worker, started_at, seen_at, concurrency, busy, queues, kinds)
     values ($1, $2, $2, $3, 0, $4, $5)`,
    [worker, now, concurrency, JSON.stringify(queues), JSON.stringify(kinds)],
  )
}

function codes({ reasons }: ExplainReport): readonly string[] {
  return reasons.map(({ code }) => code)
}
