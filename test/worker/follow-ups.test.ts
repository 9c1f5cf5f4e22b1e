import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { makeId } from '../../src/core/id.ts'
import { defineJob, InvalidOptionError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  databaseOfFile,
  manualSetup,
  NOON,
  setup,
} from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const first = defineJob('first', {
  input: typed<string>(),
  retry: { failures: 3, backoff: { type: 'fixed', base: '10s', jitter: 0 } },
})
const next = defineJob('next', { input: typed<string>() })
const keyed = defineJob('keyed', { input: typed<string>(), dedup: 'the same' })
const slowly = defineJob('slowly', {
  // A schema that takes its time.
  input: z.string().refine(async (text) => {
    await pause(20)
    return text !== 'refused'
  }, 'refused'),
})

type First = Run<typeof first>

/** One job of `first`, run once by `handler`; its id, and what was asked besides. */
async function runOnce(
  bench: Setup,
  handler: (run: First) => unknown,
): Promise<{ readonly id: string; readonly asked: readonly (readonly [string, unknown])[] }> {
  const { mill, sql, schema } = bench
  const worker = mill.worker().handle(first, (_input, run) => handler(run))
  const { id } = await mill.enqueue(first, 'x')
  await worker.start()
  await until(async () => (await sql.query('select from timeline')).rows.length > 0)
  await worker.stop()
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
  const jobs = await collect(mill.jobs.list({}, { order: 'oldest' }))
  const asked = jobs.filter((job) => job.id !== id).map((job) => [job.kind, job.input] as const)
  return { id, asked }
}

test('O5: what a run enqueues is there once it returned or paused, in the same transaction', async () => {
  await using returned = await manualSetup()
  const { id, asked } = await runOnce(returned, async (run) => {
    await run.enqueue(next, 'a', { priority: 'high', delay: '1h' })
    await run.enqueue(next, 'b')
    const { rows } = await returned.sql.query(`select from jobs where kind <> 'first'`)
    expect(rows).toEqual([])
  })
  expect(asked).toEqual([
    ['next', 'a'],
    ['next', 'b'],
  ])
  const { rows } = await returned.sql.query(
    `select count(distinct xmin::text)::int as transactions
     from (select xmin from jobs where id <> $1 union all select xmin from finished) written`,
    [id],
  )
  expect(rows).toEqual([{ transactions: 1 }])
  const job = await returned.mill.jobs.list({ kind: 'next' }, { order: 'oldest' }).page()
  expect(job.items[0]).toMatchObject({ priority: 2, dueAt: new Date(NOON + 3_600_000) })

  await using paused = await manualSetup()
  const second = await runOnce(paused, async (run) => {
    await run.enqueue(next, 'a')
    return run.pause({ for: '1h' })
  })
  expect(second.asked).toEqual([['next', 'a']])
})

test('O5: what a run enqueues is not there when it fails', async () => {
  await using bench = await manualSetup()
  const { asked } = await runOnce(bench, async (run) => {
    await run.enqueue(next, 'a')
    await run.enqueue(keyed, 'b')
    throw new Error('after all')
  })
  expect(asked).toEqual([])
})

test.each([
  ['without a key', next],
  ['with a key', keyed],
])(
  'O5: a follow-up %s is not there when a cancel decided over the pause, but is after a return',
  async (_which, kind) => {
    await using paused = await manualSetup()
    const cancelled = await runOnce(paused, async (run) => {
      await run.enqueue(kind, 'a')
      await paused.mill.jobs.cancel(run.id)
      return run.pause({ for: '1m' })
    })
    expect(cancelled.asked).toEqual([])
    expect(await paused.mill.jobs.get(cancelled.id)).toMatchObject({ state: 'cancelled' })

    await using returned = await manualSetup()
    const completed = await runOnce(returned, async (run) => {
      await run.enqueue(kind, 'a')
      await returned.mill.jobs.cancel(run.id)
    })
    expect(completed.asked).toEqual([[kind.name, 'a']])
    expect(await returned.mill.jobs.get(completed.id)).toMatchObject({ state: 'completed' })
  },
)

test.each([
  ['without a key', next],
  ['with a key', keyed],
])('O5: a follow-up %s of a run that lost its lease is never there', async (_which, kind) => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  let isDone = false
  await using worker = mill.worker().handle(first, async (_input, run) => {
    await run.enqueue(kind, 'a')
    await sql.query(`update leases set worker = 'somebody else'`)
    isDone = true
  })
  await mill.enqueue(first, 'x')
  await worker.start()
  await until(() => isDone)
  await worker.stop()
  expect(await collect(mill.jobs.list({ kind }))).toEqual([])
  expect((await sql.query('select worker from leases')).rows).toEqual([{ worker: 'somebody else' }])
})

test('api trap 2: the settlement waits for inputs that are still being checked, and for what is asked meanwhile', async () => {
  await using bench = await manualSetup()
  const { asked } = await runOnce(bench, (run) => {
    void run.enqueue(slowly, 'a').then(() => run.enqueue(slowly, 'b'))
  })
  expect(asked).toEqual([
    ['slowly', 'a'],
    ['slowly', 'b'],
  ])
})

test.each([
  ['awaited', async (run: First) => run.enqueue(slowly, 'refused')],
  ['awaited and caught', async (run: First) => run.enqueue(slowly, 'refused').catch(() => 0)],
  ['not awaited', (run: First) => void run.enqueue(slowly, 'refused')],
  // A caller without types, refused at once.
  ['not awaited, and no JSON', (run: First) => void Reflect.apply(run.enqueue, run, [next, 1n])],
])('O5: a refused follow-up fails the run: %s', async (_how, enqueue) => {
  await using bench = await manualSetup()
  const { id, asked } = await runOnce(bench, async (run) => {
    await run.enqueue(next, 'fine by itself')
    await enqueue(run)
  })
  expect(asked).toEqual([])
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 1 })
  expect(await collect(bench.mill.jobs.journal(id))).toMatchObject([
    { outcome: 'retried', error: { code: 'INVALID_INPUT' } },
  ])
})

test('O5: a follow-up with a key merges with the job that waits', async () => {
  await using bench = await manualSetup()
  const waiting = await bench.mill.enqueue(keyed, 'before')
  const { asked } = await runOnce(bench, (run) => run.enqueue(keyed, 'after'))
  expect(asked).toEqual([['keyed', 'after']])
  expect(await bench.mill.jobs.get(waiting.id)).toMatchObject({ input: 'after' })
})

test('M7: a follow-up whose id or key an open transaction holds delays no other run', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const app = await bench.session()
  const id = makeId(NOON)
  await app.query('begin')
  await mill.in(app).enqueue(next, 'mine', { id })
  await mill.in(app).enqueue(keyed, 'mine')
  await using worker = mill.worker().handle(first, async (input, run) => {
    if (input === 'id') await run.enqueue(next, 'late', { id })
    if (input === 'key') await run.enqueue(keyed, 'late')
  })
  await worker.start()
  const held = [await mill.enqueue(first, 'id'), await mill.enqueue(first, 'key')]
  await until(async () => {
    const { rows } = await sql.query(
      `select from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%"jobs"%'`,
    )
    return rows.length > 0
  })
  const others = await mill.enqueueMany(first, ['a', 'b', 'c'])
  await until(async () => (await sql.query('select from finished')).rows.length === others.length)
  for (const each of held) {
    expect(await mill.jobs.get(each.id)).toMatchObject({ state: 'running' })
  }
  await app.query('commit')
  await until(async () => (await sql.query('select from finished')).rows.length === 5)
  expect(await mill.jobs.get(id)).toMatchObject({ input: 'mine' })
}, 60_000)

test('O5: hundreds of follow-ups of one run are all there', async () => {
  await using bench = await manualSetup()
  const { asked } = await runOnce(bench, (run) => {
    for (let index = 0; index < 700; index += 1) void run.enqueue(next, String(index))
  })
  expect(asked).toHaveLength(700)
})

test('O1, O5: a settlement whose answer was lost leaves its follow-ups once', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const lost = proxy.loseAnswer('settle_runs')
  const { id, asked } = await runOnce(bench, (run) => run.enqueue(next, 'a'))
  await lost
  expect(asked).toEqual([['next', 'a']])
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 1 })
})

test('what is enqueued on a run that has ended is an error, not a job that never comes', async () => {
  await using bench = await manualSetup()
  let run: First | undefined
  await runOnce(bench, (current) => {
    run = current
  })
  expect(() => run?.enqueue(next, 'late')).toThrow(InvalidOptionError)
  expect(() => run?.enqueue(next, 'late')).toThrow('after the end of the run')
  expect(() => run?.pause({ for: '1s' })).toThrow('after the end of the run')
  await expect(run?.transaction(async () => 1)).rejects.toThrow('the run is over')
})
