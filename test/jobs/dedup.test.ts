import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { untilBlocked } from '../support/blocked.ts'
import { assertOnePlace, manualSetup, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

interface Page {
  readonly n: number
  readonly key?: string | undefined
}

const dedup = ({ key }: Page): string | undefined => key
const page = defineJob('page', { input: typed<Page>(), dedup })
const kept = defineJob('kept', { input: typed<Page>(), dedup, merge: 'keep' })
const twins = defineJob('page', { input: typed<Page>(), dedup, merge: 'independent' })

async function payloads(t: Setup): Promise<unknown[]> {
  const { rows } = await t.sql.query<{ payload: unknown }>(
    'select payload from jobs join ready on job_id = id order by id',
  )
  return rows.map(({ payload }) => payload)
}

test('D1: asks of one kind and key are one pending job, others have nothing to do with it', async () => {
  await using t = await setup()
  const first = await t.mill.enqueue(page, { n: 1, key: 'a' })
  const second = await t.mill.enqueue(page, { n: 2, key: 'a' })
  expect(first).toEqual({ id: first.id, outcome: 'inserted', asked: first.id })
  expect(second).toMatchObject({ id: first.id, outcome: 'replaced' })
  expect(second.asked).not.toBe(first.id)
  const others = [
    await t.mill.enqueue(page, { n: 3, key: 'b' }),
    await t.mill.enqueue(kept, { n: 4, key: 'a' }),
    await t.mill.enqueue(page, { n: 5 }),
    await t.mill.enqueue(page, { n: 6 }),
  ]
  expect(others.map(({ outcome }) => outcome)).toEqual(Array(4).fill('inserted'))
  expect(await payloads(t)).toContainEqual({ n: 2, key: 'a' })
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 5 })
})

test('D1: the key that the call names goes before the one of the kind', async () => {
  await using t = await setup()
  const { id } = await t.mill.enqueue(page, { n: 1, key: 'a' })
  const options = { dedup: 'a' }
  expect(await t.mill.enqueue(page, { n: 2, key: 'b' }, options)).toMatchObject({ id })
  const plain = defineJob('plain', { input: typed<number>() })
  const named = await t.mill.enqueue(plain, 1, { dedup: 'a' })
  expect(await t.mill.enqueue(plain, 2, { dedup: 'a' })).toMatchObject({ id: named.id })
})

test('D1: the oldest pending job of a key takes the ask', async () => {
  await using t = await manualSetup()
  const oldest = await t.mill.enqueue(twins, { n: 1, key: 'a' })
  t.clock.advance(10)
  const younger = await t.mill.enqueue(twins, { n: 2, key: 'a' }, { priority: 'high' })
  expect(younger).toMatchObject({ outcome: 'inserted', id: younger.asked })
  expect(await t.mill.enqueue(page, { n: 3, key: 'a' })).toMatchObject({ id: oldest.id })
})

test('D1, races 17: an expired job takes no ask with it; the ask moves it to its end', async () => {
  await using t = await manualSetup()
  const old = await t.mill.enqueue(page, { n: 1, key: 'a' }, { expires: '1s' })
  t.clock.advance(1_000)
  const fresh = await t.mill.enqueue(page, { n: 2, key: 'a' })
  expect(fresh).toMatchObject({ outcome: 'inserted' })
  expect(await t.mill.jobs.get(old.id)).toMatchObject({ state: 'dead', reason: 'expired' })
  expect(await t.mill.jobs.get(fresh.id)).toMatchObject({ state: 'pending' })
  await assertOnePlace(t.sql, t.schema)
})

test('races 17: a job that expires while its ask is decided takes nothing with it, and stops nothing', async () => {
  await using t = await manualSetup()
  const slow = defineJob('page', {
    input: typed<Page>(),
    dedup,
    merge: () => {
      t.clock.advance(2_000)
      return 'keep'
    },
  })
  await t.mill.enqueue(page, { n: 1, key: 'a' }, { expires: '1s' })
  const { id, outcome } = await t.mill.enqueue(slow, { n: 2, key: 'a' })
  expect(outcome).toBe('inserted')
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending', input: { n: 2 } })
})

test('E2: an ask that was placed, or merged, is kept when it is asked again', async () => {
  await using t = await setup()
  const first = await t.mill.enqueue(page, { n: 1, key: 'a' })
  const merged = await t.mill.enqueue(page, { n: 2, key: 'a' })
  await t.mill.enqueue(page, { n: 3, key: 'a' })
  for (const { asked } of [first, merged]) {
    const again = await t.mill.enqueue(page, { n: 4, key: 'a' }, { id: asked })
    expect(again).toEqual({ id: first.id, outcome: 'kept', asked })
  }
  expect(await payloads(t)).toEqual([{ n: 3, key: 'a' }])
})

test('E2, races 16: an ask that is repeated after its job ended makes no other', async () => {
  await using t = await setup()
  const short = defineJob('short', { input: typed<number>(), dedup: 'k', keep: { completed: 0 } })
  const { id } = await t.mill.enqueue(short, 1)
  const merged = await t.mill.enqueue(short, 2)
  await using worker = t.mill.worker().handle(short, () => undefined)
  await worker.start()
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  for (const asked of [id, merged.asked]) {
    expect(await t.mill.enqueue(short, 3, { id: asked })).toEqual({ id, outcome: 'kept', asked })
  }
})

test.each<readonly [what: string, text: string, outcome: string]>([
  ['placed', 'on conflict (kind, dedup_key, sibling)', 'inserted'],
  ['merged', "'merged', c.run", 'replaced'],
])('races 16: an ask whose answer was lost after it was %s takes effect once', async (...row) => {
  const [what, text, outcome] = row
  await using t = await setup()
  await using proxy = await proxyTo(t.url)
  await using other = await setup({ schema: t.schema, database: proxy.url, wake: 'poll' })
  if (what === 'merged') await t.mill.enqueue(page, { n: 1, key: 'a' })
  const lost = proxy.loseAnswer(text)
  const answer = await other.mill.enqueue(page, { n: 2, key: 'a' })
  await lost
  expect(answer.outcome).toBe(outcome)
  expect(await payloads(t)).toEqual([{ n: 2, key: 'a' }])
  const { rows } = await t.sql.query('select asked_id from journal')
  expect(rows).toEqual(what === 'merged' ? [{ asked_id: answer.asked }] : [])
})

test('D4, races 5: of many first asks one wins, though one of them is rolled back', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).enqueue(page, { n: 0, key: 'a' })
  const clients = await Promise.all(Array.from({ length: 5 }, () => setup({ schema: t.schema })))
  const asks = clients.map((client, n) => client.mill.enqueue(page, { n, key: 'a' }))
  await untilBlocked(t.sql, clients.length)
  await held.query('rollback')
  const answers = await Promise.all(asks)
  const [first] = answers
  expect(answers.map(({ id }) => id)).toEqual(Array(5).fill(first?.id))
  expect(answers.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(1)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1, ready: 1 })
  await Promise.all(clients.map((client) => client.close()))
})

test('D4: an ask that waits for another of its key holds up no other key of its client', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).enqueue(page, { n: 0, key: 'a' })
  const waiting = t.mill.enqueue(page, { n: 1, key: 'a' })
  await untilBlocked(t.sql)
  expect(await t.mill.enqueue(page, { n: 2, key: 'b' })).toMatchObject({ outcome: 'inserted' })
  await held.query('commit')
  expect(await waiting).toMatchObject({ outcome: 'replaced' })
})

test('D4: asks of one key that are not awaited are met in the order of the calls', async () => {
  await using t = await setup()
  const asks = Array.from({ length: 20 }, (_, n) => t.mill.enqueue(page, { n, key: 'a' }))
  await Promise.all(asks)
  expect(await payloads(t)).toEqual([{ n: 19, key: 'a' }])
})

test('D5, races 4: a job that returns waits for no uncommitted ask of its key, nor does its batch', async () => {
  await using t = await setup()
  const failing = { retry: { failures: 3, backoff: { type: 'fixed', base: '1h' } } } as const
  const first = await t.mill.enqueue(page, { n: 1, key: 'a' }, failing)
  const rest = await t.mill.enqueueMany(
    page,
    Array.from({ length: 20 }, (_, n) => ({ n })),
    failing,
  )
  const held = await t.session()
  let isAsked: (() => void) | undefined
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  await using worker = t.mill.worker({ concurrency: 30 }).handle(page, async () => {
    await asked
    throw new Error('not today')
  })
  await worker.start()
  await until(async () => (await places(t.sql, t.schema)).leases === 21)
  await held.query('begin')
  const twin = await t.mill.in(held).enqueue(page, { n: 2, key: 'a' })
  isAsked?.()
  await until(async () => (await places(t.sql, t.schema)).ready === 21)
  await held.query('commit')
  expect(twin.outcome).toBe('inserted')
  const ids = [first, ...rest].map(({ id }) => id)
  const { rows } = await t.sql.query('select job_id from ready where job_id = any ($1)', [ids])
  expect(rows).toHaveLength(21)
  // Both of the key are there; the oldest takes what comes next.
  expect(await t.mill.enqueue(page, { n: 3, key: 'a' })).toMatchObject({ id: first.id })
})

test('replays 17, D5: runs of one key that lapse together all come back, beside one that waits', async () => {
  await using t = await manualSetup()
  const lapse = { lease: '5s' } as const
  for (const n of [1, 2]) {
    await t.mill.enqueue(twins, { n, key: 'a' }, lapse)
  }
  await t.sql.query(`
    with gone as (delete from ready returning *)
    insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority, dedup_key)
    select job_id, 'a worker that died', queue, kind, due_at, due_at, due_at, lease_ms, 1, 0, priority, dedup_key from gone`)
  await t.mill.enqueue(page, { n: 3, key: 'a' }, { delay: '1h' })
  const runs: number[] = []
  t.clock.advance(60_000)
  await using worker = t.mill.worker().handle(page, ({ n }) => void runs.push(n))
  await worker.start()
  await t.mill.enqueue(page, { n: 4, key: 'b' })
  await until(() => runs.includes(4))
  await until(async () => (await places(t.sql, t.schema)).leases === 0)
  t.clock.advance(3_600_000)
  await until(() => runs.length === 4)
  expect(runs.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
  await assertOnePlace(t.sql, t.schema)
})
