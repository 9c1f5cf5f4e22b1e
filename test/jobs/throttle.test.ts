import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { pruneThrottles } from '../../src/jobs/key-statements.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { bind } from '../../src/database/statement.ts'
import type { Parameters } from '../../src/database/statement.ts'
import { namespace } from '../../src/database/namespace.ts'
import { instantText } from '../../src/core/instant-text.ts'
import { untilBlocked } from '../support/blocked.ts'
import { manualSetup, places, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const digest = defineJob('digest', {
  input: typed<{ to: string; n: number }>(),
  dedup: { key: ({ to }) => to, throttle: '10s' },
})

test('D7: at most one job per key and window, and every ask is answered with the one that won', async () => {
  await using t = await manualSetup()
  const won = await t.mill.enqueue(digest, { to: 'ada', n: 1 })
  expect(won).toEqual({ id: won.id, outcome: 'inserted', asked: won.id })
  t.clock.advance(9_999)
  const late = await t.mill.enqueue(digest, { to: 'ada', n: 2 })
  expect(late).toMatchObject({ id: won.id, outcome: 'kept' })
  expect(await t.mill.enqueue(digest, { to: 'bob', n: 3 })).toMatchObject({ outcome: 'inserted' })
  t.clock.advance(1)
  expect(await t.mill.enqueue(digest, { to: 'ada', n: 4 })).toMatchObject({ outcome: 'inserted' })
  const { rows } = await t.sql.query<{ n: number }>(
    `select (payload ->> 'n')::int as n from jobs join ready on id = job_id order by 1`,
  )
  expect(rows.map(({ n }) => n)).toEqual([1, 3, 4])
})

test('D7: the window outlives its job', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(digest, { to: 'ada', n: 1 })
  await using worker = t.mill.worker().handle(digest, () => undefined)
  await worker.start()
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  expect(await t.mill.enqueue(digest, { to: 'ada', n: 2 })).toMatchObject({ id, outcome: 'kept' })
})

test('D7: two jobs of a key may wait, from two windows', async () => {
  await using t = await manualSetup()
  await t.mill.enqueue(digest, { to: 'ada', n: 1 }, { delay: '1h' })
  t.clock.advance(10_000)
  await t.mill.enqueue(digest, { to: 'ada', n: 2 })
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 2 })
})

test('D7: asks from many sessions get one winner; one that is rolled back gives the window back', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).enqueue(digest, { to: 'ada', n: 0 })
  const clients = await Promise.all([1, 2, 3].map(() => setup({ schema: t.schema })))
  const asks = clients.map(({ mill }, n) => mill.enqueue(digest, { to: 'ada', n }))
  await untilBlocked(t.sql, 3)
  await held.query('rollback')
  const answers = await Promise.all(asks)
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  expect(answers.filter(({ outcome }) => outcome === 'inserted')).toHaveLength(1)
  await Promise.all(clients.map((client) => client.close()))
})

test('D7, E5: of one call each key gets its window once, in the order of the call', async () => {
  await using t = await setup()
  const brief = defineJob('brief', {
    input: typed<string>(),
    dedup: { key: (k) => k, throttle: 1 },
  })
  const results = await t.mill.enqueueMany(brief, ['b', 'a', 'b', 'a', 'c'])
  const outcomes = results.map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['inserted', 'inserted', 'kept', 'kept', 'inserted'])
  expect(results[2]?.id).toBe(results[0]?.id)
})

test('E2: a repeated ask is kept by its own job, whoever has the window by then, or nobody', async () => {
  await using t = await manualSetup()
  const first = await t.mill.enqueue(digest, { to: 'ada', n: 1 })
  const again = () => t.mill.enqueue(digest, { to: 'ada', n: 1 }, { id: first.id })
  t.clock.advance(20_000)
  expect(await again()).toEqual({ id: first.id, outcome: 'kept', asked: first.id })
  await t.mill.enqueue(digest, { to: 'ada', n: 2 })
  expect(await again()).toMatchObject({ id: first.id, outcome: 'kept' })
  await t.sql.query('delete from throttles')
  expect(await again()).toMatchObject({ id: first.id, outcome: 'kept' })
})

test('races 16: an ask whose answer was lost has won its window once', async () => {
  await using t = await setup()
  await using proxy = await proxyTo(t.url)
  await using other = await setup({ schema: t.schema, database: proxy.url, wake: 'poll' })
  const lost = proxy.loseAnswer('set until = excluded.until')
  const answer = await other.mill.enqueue(digest, { to: 'ada', n: 1 })
  await lost
  expect(answer).toEqual({ id: answer.asked, outcome: 'inserted', asked: answer.asked })
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 1 })
})

test('D7: windows that are over for a minute are pruned, in batches, and no others', async () => {
  await using t = await manualSetup()
  const clients = Array.from({ length: 7 }, (_, n) => ({ to: `client ${n}`, n }))
  await t.mill.enqueueMany(digest, clients)
  t.clock.advance(70_001)
  await t.mill.enqueue(digest, { to: 'ada', n: 1 })
  const place = namespace(t.schema)
  const params: Parameters & { readonly most: number } = {
    most: 5,
    now: instantText(t.clock.now()),
  }
  const prune = async (): Promise<unknown> => {
    const { text, values } = bind(pruneThrottles, params, place)
    return (await t.sql.query(text, [...values])).rows
  }
  expect([await prune(), await prune(), await prune()]).toEqual([
    [{ pruned: 5 }],
    [{ pruned: 2 }],
    [{ pruned: 0 }],
  ])
  expect(await t.mill.enqueue(digest, { to: 'ada', n: 2 })).toMatchObject({ outcome: 'kept' })
})
