import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { typed } from '../../src/core/schema.ts'
import { InvalidOptionError } from '../../src/errors.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { manualSetup, NOON, places, setup } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const input = typed<{ n: number }>()
const HOUR = 3_600_000

/** What the tables hold of the one job there is. */
async function stored({ sql }: ManualSetup): Promise<Record<string, unknown>> {
  const { rows } = await sql.query<Record<string, unknown>>(
    `select r.queue, r.priority, r.lease_ms::float8 as lease_ms, j.options,
       (extract(epoch from r.due_at) * 1000)::float8 as due_at,
       (extract(epoch from r.expires_at) * 1000)::float8 as expires_at,
       (extract(epoch from j.created_at) * 1000)::float8 as created_at
     from ready r join jobs j on j.id = r.job_id and j.queue = r.queue and j.priority = r.priority and j.kind = r.kind`,
  )
  expect(rows).toHaveLength(1)
  return rows[0] ?? {}
}

test('E3: without options a job has the defaults, and nothing of them is stored', async () => {
  await using t = await manualSetup()
  await t.mill.enqueue(defineJob('plain', { input }), { n: 1 })
  expect(await stored(t)).toEqual({
    queue: 'default',
    priority: 5,
    lease_ms: 60_000,
    options: null,
    due_at: NOON,
    expires_at: null,
    created_at: NOON,
  })
})

test('E3: the call wins over the kind, member by member', async () => {
  await using t = await manualSetup()
  const kind = defineJob('mail', {
    input,
    queue: 'mail',
    priority: 'low',
    lease: '10s',
    retry: { failures: 3, backoff: { type: 'fixed', base: '2s' } },
    keep: { dead: 'forever', completed: '1h' },
    timeout: '5m',
    expires: '2h',
  })
  await t.mill.enqueue(
    kind,
    { n: 1 },
    { priority: 0, retry: { failures: 4 }, keep: { completed: 0 } },
  )
  expect(await stored(t)).toEqual({
    queue: 'mail',
    priority: 0,
    lease_ms: 10_000,
    options: {
      failures: 4,
      leaseMs: 10_000,
      timeoutMs: 300_000,
      backoff: { type: 'fixed', baseMs: 2_000 },
      keep: { completed: 0, dead: null },
    },
    due_at: NOON,
    expires_at: NOON + 2 * HOUR,
    created_at: NOON,
  })
})

test('E3: options may be functions of the parsed input', async () => {
  await using t = await manualSetup()
  const kind = defineJob('sized', {
    input: z.object({ size: z.string().transform(Number) }),
    queue: ({ size }) => (size > 10 ? 'large' : undefined),
    priority: ({ size }) => (size > 10 ? 'low' : 'high'),
  })
  await t.mill.enqueue(kind, { size: '11' })
  expect(await stored(t)).toMatchObject({ queue: 'large', priority: 8 })
})

test("E3: a later change of the kind's options affects later jobs only", async () => {
  await using t = await setup()
  const before = defineJob('flaky', { input, retry: { failures: 1 }, queue: 'old' })
  const after = defineJob('flaky', { input, retry: { failures: 7 }, queue: 'old' })
  const old = await t.mill.enqueue(before, { n: 1 })
  const young = await t.mill.enqueue(after, { n: 2 })
  // The worker knows the changed kind only.
  const worker = t.mill.worker({ queues: ['old'] }).handle(after, () => {
    throw new Error('no')
  })
  await worker.start()
  await until(async () => (await t.mill.jobs.get(young.id))?.failures === 1)
  await until(async () => (await t.mill.jobs.get(old.id))?.state === 'dead')
  await worker.stop()
  expect(await t.mill.jobs.get(old.id)).toMatchObject({ state: 'dead', failureLimit: 1 })
  expect(await t.mill.jobs.get(young.id)).toMatchObject({ state: 'pending', failureLimit: 7 })
})

test.each([
  ['delay', { delay: '90s' }, NOON + 90_000],
  ['no delay', { delay: 0 }, NOON],
  ['an instant', { at: new Date(NOON + HOUR) }, NOON + HOUR],
  ['an instant that has passed', { at: new Date(NOON - HOUR) }, NOON],
  ['an instant of long ago', { at: new Date(-8.64e15) }, NOON],
  ['the last instant there is', { at: new Date(8.64e15) }, 8.64e15],
] as const)('E4: with %s the job is due when it should be', async (_what, options, due) => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(defineJob('plain', { input }), { n: 1 }, options)
  expect(await stored(t)).toMatchObject({ due_at: due })
  expect(await t.mill.jobs.get(id)).toMatchObject({ dueAt: new Date(due) })
})

test('E4: delay and at together are an error, and nothing is written', async () => {
  await using t = await manualSetup()
  const both = { delay: '5m', at: new Date(NOON) } as const
  const kind = defineJob('plain', { input })
  // @ts-expect-error one of the two
  await expect(t.mill.enqueue(kind, { n: 1 }, both)).rejects.toThrow(InvalidOptionError)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0 })
})

test.each([
  ['a duration', { expires: '1h', delay: '2h' }, NOON + HOUR],
  ['an instant', { expires: new Date(NOON + 5) }, NOON + 5],
  ['an instant that has passed', { expires: new Date(NOON - HOUR) }, NOON - HOUR],
] as const)('E4: %s in expires counts from the enqueue', async (_what, options, expires) => {
  await using t = await manualSetup()
  await t.mill.enqueue(defineJob('plain', { input }), { n: 1 }, options)
  expect(await stored(t)).toMatchObject({ expires_at: expires })
})

test('E4: a job that is pending past its expiry never runs and ends dead, expired', async () => {
  await using t = await setup()
  const kind = defineJob('brief', { input, keep: { dead: '1d' } })
  let runs = 0
  const { id } = await t.mill.enqueue(kind, { n: 1 }, { expires: new Date(NOON) })
  const worker = t.mill.worker().handle(kind, () => {
    runs += 1
  })
  await worker.start()
  await until(async () => (await t.mill.jobs.get(id))?.state !== 'pending')
  await worker.stop()
  const job = await t.mill.jobs.get(kind, id)
  expect(runs).toBe(0)
  expect(job).toMatchObject({
    reason: 'expired',
    run: 0,
    failures: 0,
    error: null,
    startedAt: null,
  })
  if (job?.state !== 'dead') throw new Error('the job is not dead')
  expect(Number(job.keptUntil) - Number(job.finishedAt)).toBe(24 * HOUR)
  const journal = await t.mill.jobs.journal(id).page()
  expect(journal.items).toMatchObject([{ outcome: 'dead', reason: 'expired', run: 0 }])
})

describe('§12: before anything is written', () => {
  let t: ManualSetup
  beforeAll(async () => {
    t = await manualSetup()
  })
  afterAll(() => t.close())

  test.each([
    [{ priority: 10 }, 'priority'],
    [{ priority: '5' }, 'priority'],
    [{ retry: { failures: 0 } }, 'retry.failures'],
    [{ lease: 0 }, 'lease'],
    [{ timeout: '-1s' }, 'timeout'],
    [{ expires: '0s' }, 'expires'],
    [{ delay: 1.5 }, 'delay'],
    [{ delay: 'soon' }, 'delay'],
    [{ at: new Date(Number.NaN) }, 'at'],
    [{ at: NOON }, 'at'],
    [{ keep: { dead: 'never' } }, 'keep.dead'],
    [{ attempts: 3 }, 'attempts'],
    [{ retry: { attempts: 3 } }, 'attempts'],
  ])('%j is refused by name', async (options, option) => {
    // @ts-expect-error out of range by type, or by value
    const asked = t.mill.enqueue(defineJob('plain', { input }), { n: 1 }, options)
    await expect(asked).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
    expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0 })
  })
})
