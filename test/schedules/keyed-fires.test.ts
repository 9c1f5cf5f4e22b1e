import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { untilBlocked } from '../support/blocked.ts'
import { assertOnePlace, manualSetup, NOON, places } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { notices } from '../support/notices.ts'
import { until } from '../support/until.ts'
import { boundariesOf, nextOf, startStranger } from './fired.ts'

const MINUTE = 60_000
const input = typed<{ n: number }>()

/** The entries of merged fires, by boundary. */
async function mergedFires({ sql }: ManualSetup): Promise<readonly object[]> {
  const { rows } = await sql.query<object>(
    `select decision, (extract(epoch from boundary) * 1000)::float8 as boundary from journal
     where schedule = 's' order by boundary`,
  )
  return rows
}

async function advanceTo(t: ManualSetup, minute: number): Promise<void> {
  t.clock.advance(NOON + minute * MINUTE - t.clock.now())
  await until(async () => (await nextOf(t.mill, 's')) === NOON + (minute + 1) * MINUTE)
}

test('S2: fires with a key fold into the job that waits, and say in its journal for which boundary', async () => {
  await using t = await manualSetup()
  const sum = defineJob('sum', { input, dedup: 'k' })
  const { id } = await t.mill.enqueue(sum, { n: 1 })
  await t.mill.schedule('s', { every: '1m', kind: sum, input: { n: 2 } })
  await startStranger(t.mill)
  await advanceTo(t, 1)
  await advanceTo(t, 2)
  expect(await t.mill.jobs.get(id)).toMatchObject({ input: { n: 2 }, schedule: null })
  expect(await mergedFires(t)).toEqual([
    { decision: 'replace', boundary: NOON + MINUTE },
    { decision: 'replace', boundary: NOON + 2 * MINUTE },
  ])
  expect(await t.mill.schedules.list()).toMatchObject([
    { lastJobId: id, lastFireAt: new Date(NOON + 2 * MINUTE) },
  ])
  expect((await places(t.sql, t.schema)).jobs).toBe(1)
})

test('S2: the first fire of a key is a job of its own with its boundary, those after it fold into it', async () => {
  await using t = await manualSetup()
  const keep = defineJob('keep', { input, merge: 'keep' })
  await t.mill.schedule('s', { every: '1m', kind: keep, input: { n: 1 }, dedup: 'k' })
  await startStranger(t.mill)
  for (const minute of [1, 2, 3]) await advanceTo(t, minute)
  expect(await boundariesOf(t.mill, 's')).toEqual([NOON + MINUTE])
  expect(await mergedFires(t)).toMatchObject([{ decision: 'keep' }, { decision: 'keep' }])
})

test('S2: each missed boundary of a key is merged once', async () => {
  await using t = await manualSetup()
  const log = defineJob('log', {
    input: typed<{ n: number }[]>(),
    dedup: 'k',
    merge: (existing, incoming) => ({ input: [...existing.input, ...incoming.input] }),
  })
  await t.mill.schedule('s', { every: '1m', kind: log, input: [{ n: 1 }], catchUp: { all: 9 } })
  t.clock.advance(4 * MINUTE)
  await using worker = t.mill.worker().handle(log, () => undefined)
  await t.mill.queues.pause('default')
  await worker.start()
  await until(async () => (await nextOf(t.mill, 's')) === NOON + 5 * MINUTE)
  const { items } = await t.mill.jobs.list({ kind: log }).page()
  expect(items).toMatchObject([{ input: [{ n: 1 }, { n: 1 }, { n: 1 }, { n: 1 }] }])
  expect(await mergedFires(t)).toHaveLength(3)
})

test('S2: a kind that merges by a function is fired by a worker that handles it, and by no other', async () => {
  await using t = await manualSetup()
  const sum = defineJob('sum', {
    input,
    dedup: 'k',
    merge: (existing, incoming) => ({ input: { n: existing.input.n + incoming.input.n } }),
  })
  await t.mill.queues.pause('default')
  const { id } = await t.mill.enqueue(sum, { n: 1 })
  await t.mill.schedule('s', { every: '1m', kind: sum, input: { n: 2 } })
  await t.mill.schedule('beside', { every: '1m', kind: defineJob('beside') })
  await startStranger(t.mill)
  t.clock.advance(MINUTE)
  await until(async () => (await boundariesOf(t.mill, 'beside')).length === 1)
  expect(await nextOf(t.mill, 's')).toBe(NOON + MINUTE)
  await using worker = t.mill.worker().handle(sum, () => undefined)
  await worker.start()
  await until(async () => (await nextOf(t.mill, 's')) === NOON + 2 * MINUTE)
  expect(await t.mill.jobs.get(id)).toMatchObject({ input: { n: 3 } })
  // By hand it is merged by the client that registered it.
  expect(await t.mill.schedules.runNow('s')).toMatchObject({ id, outcome: 'merged' })
  expect(await t.mill.jobs.get(id)).toMatchObject({ input: { n: 5 } })
  await using elsewhere = await manualSetup({ schema: t.schema })
  const alone = await elsewhere.mill.schedules.runNow('s')
  expect(alone).toMatchObject({ outcome: 'inserted', id: alone.asked })
})

test('S2: a merge function that throws loses no boundary: the job is one of its own, and somebody is told', async () => {
  await using t = await manualSetup()
  using told = notices(t.schema)
  const picky = defineJob('picky', {
    input,
    dedup: 'k',
    merge: () => {
      throw new Error('not those two')
    },
  })
  await t.mill.queues.pause('default')
  await t.mill.enqueue(picky, { n: 1 })
  await t.mill.schedule('s', { every: '1m', kind: picky, input: { n: 2 } })
  await using worker = t.mill.worker().handle(picky, () => undefined)
  await worker.start()
  t.clock.advance(MINUTE)
  await until(async () => (await boundariesOf(t.mill, 's')).length === 1)
  expect(told.messages.some((message) => message.includes('merge function'))).toBe(true)
  await expect(t.mill.schedules.runNow('s')).rejects.toThrow('not those two')
  await assertOnePlace(t.sql, t.schema)
})

test('S2: a live key is asked for once while its job runs', async () => {
  await using t = await manualSetup()
  const live = defineJob('live', { input, dedup: { key: 'k', scope: 'live' } })
  await t.mill.schedule('s', { every: '1m', kind: live, input: { n: 1 } })
  await startStranger(t.mill)
  await advanceTo(t, 1)
  const [running] = await t.mill.claim({ kinds: [live] })
  await advanceTo(t, 2)
  expect(await boundariesOf(t.mill, 's')).toEqual([NOON + MINUTE])
  expect(await t.mill.schedules.list()).toMatchObject([{ lastJobId: running?.id }])
  await running?.complete()
  await advanceTo(t, 3)
  expect(await boundariesOf(t.mill, 's')).toEqual([NOON + MINUTE, NOON + 3 * MINUTE])
})

test('S2, D7: throttled and debounced kinds are fired as they are enqueued', async () => {
  await using t = await manualSetup()
  const throttled = defineJob('throttled', { input, dedup: { key: 'k', throttle: '150s' } })
  const debounced = defineJob('debounced', { input, dedup: { key: 'k', debounce: '10m' } })
  await t.mill.schedule('t', { every: '1m', kind: throttled, input: { n: 1 } })
  await t.mill.schedule('s', { every: '1m', kind: debounced, input: { n: 1 } })
  await startStranger(t.mill)
  for (const minute of [1, 2, 3, 4]) {
    await advanceTo(t, minute)
    await until(async () => (await nextOf(t.mill, 't')) === NOON + (minute + 1) * MINUTE)
  }
  expect(await boundariesOf(t.mill, 't')).toEqual([NOON + MINUTE, NOON + 4 * MINUTE])
  const { items } = await t.mill.jobs.list({ schedule: 's' }).page()
  expect(items).toMatchObject([{ dueAt: new Date(NOON + 14 * MINUTE) }])
})

test('M7: a key that an open transaction asked for holds up its own schedule only', async () => {
  await using t = await manualSetup()
  const sum = defineJob('sum', { input, dedup: 'k' })
  await t.mill.schedule('a held one', { every: '1m', kind: sum, input: { n: 1 } })
  await t.mill.schedule('s', { every: '1m', kind: sum, input: { n: 1 }, dedup: 'other' })
  await t.mill.schedule('plain', { every: '1m', kind: defineJob('plain') })
  const asker = await t.session()
  await asker.query('begin')
  await t.mill.in(asker).enqueue(sum, { n: 0 })
  await startStranger(t.mill)
  t.clock.advance(MINUTE)
  await untilBlocked(t.sql)
  await until(async () => (await boundariesOf(t.mill, 'plain')).length === 1)
  // After a second it gives way.
  await until(async () => (await boundariesOf(t.mill, 's')).length === 1)
  await asker.query('commit')
  await until(async () => {
    t.clock.advance(1_000)
    return (await nextOf(t.mill, 'a held one')) === NOON + 2 * MINUTE
  })
  const { items } = await t.mill.jobs.list({ kind: sum, dedupKey: 'k' }).page()
  expect(items).toMatchObject([{ input: { n: 1 } }])
})
