import { expect, test } from 'vitest'
import { untilBlocked } from '../support/blocked.ts'
import type { Schema } from '../../src/core/schema.ts'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { gate } from '../support/gate.ts'
import { places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const input = typed<{ n: number }>()
const sync = defineJob('sync', { input, dedup: { key: 'k', scope: 'live' } })

test('D1: an ask that meets a running job is kept, with the id of the run', async () => {
  await using t = await setup()
  const runs = gate()
  await using worker = t.mill.worker().handle(sync, ({ n }) => runs.enter(String(n)))
  const { id } = await t.mill.enqueue(sync, { n: 1 })
  await worker.start()
  await until(() => runs.now === 1)
  const kept = await t.mill.enqueue(sync, { n: 2 })
  expect(kept).toMatchObject({ id, outcome: 'kept' })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1, ready: 0, leases: 1 })
  runs.open()
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  expect(await t.mill.enqueue(sync, { n: 3 })).toMatchObject({ outcome: 'inserted' })
})

test('D1: one that meets a pending job merges with it', async () => {
  await using t = await setup()
  const { id } = await t.mill.enqueue(sync, { n: 1 })
  const second = await t.mill.enqueue(sync, { n: 2 })
  expect(second).toMatchObject({ id, outcome: 'replaced' })
  expect(await t.mill.enqueue(sync, { n: 3 }, { id: second.asked })).toEqual({
    id,
    outcome: 'kept',
    asked: second.asked,
  })
})

test('D1, races 17: a run that was asked to end does not count', async () => {
  await using t = await setup()
  const runs = gate()
  await using worker = t.mill.worker().handle(sync, ({ n }) => runs.enter(String(n)))
  const { id } = await t.mill.enqueue(sync, { n: 1 })
  await worker.start()
  await until(() => runs.now === 1)
  await t.mill.jobs.cancel(id)
  const fresh = await t.mill.enqueue(sync, { n: 2 })
  expect(fresh.outcome).toBe('inserted')
  runs.open()
  await until(async () => (await t.mill.jobs.get(fresh.id))?.state === 'completed')
})

test('D1: with pending scope a running job does not count', async () => {
  await using t = await setup()
  const runs = gate()
  const kind = defineJob('sync', { input, dedup: 'k' })
  await using worker = t.mill.worker().handle(kind, ({ n }) => runs.enter(String(n)))
  await t.mill.enqueue(kind, { n: 1 })
  await worker.start()
  await until(() => runs.now === 1)
  expect(await t.mill.enqueue(kind, { n: 2 })).toMatchObject({ outcome: 'inserted' })
  runs.open()
})

test('races 6: an ask waits for the one before it, and sees what became of its job', async () => {
  await using t = await setup()
  const runs = gate()
  const held = await t.session()
  await held.query('begin')
  const first = await t.mill.in(held).enqueue(sync, { n: 1 })
  const second = t.mill.enqueue(sync, { n: 2 })
  // At the key, before it looked: a look at the state before the first would be worth nothing.
  await untilBlocked(t.sql)
  await held.query('commit')
  expect(await second).toMatchObject({ id: first.id, outcome: 'replaced' })
  await using worker = t.mill.worker().handle(sync, ({ n }) => runs.enter(String(n)))
  await worker.start()
  await until(() => runs.now === 1)
  expect(await t.mill.enqueue(sync, { n: 3 })).toMatchObject({ id: first.id, outcome: 'kept' })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1 })
  runs.open()
})

test('races 6: a pending job that is claimed while the ask is decided gets no twin', async () => {
  await using t = await setup()
  let decide: (() => void) | undefined
  let parses = 0
  const decided = new Promise<void>((resolve) => {
    decide = resolve
  })
  const slowly: Schema<{ n: number }, { n: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate() {
        parses += 1
        if (parses === 2) await decided
        return { value: { n: 0 } }
      },
    },
  }
  const slow = defineJob('sync', {
    input: slowly,
    dedup: { key: 'k', scope: 'live' },
    merge: () => 'replace',
  })
  const runs = gate()
  const { id } = await t.mill.enqueue(sync, { n: 1 })
  const asked = t.mill.enqueue(slow, { n: 2 })
  await until(() => parses === 2)
  await using worker = t.mill.worker().handle(sync, ({ n }) => runs.enter(String(n)))
  await worker.start()
  await until(() => runs.now === 1)
  decide?.()
  expect(await asked).toMatchObject({ id, outcome: 'kept' })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1, leases: 1 })
  runs.open()
})

test('races 6: of asks from many sessions, while jobs of 0 ms run, never two are live', async () => {
  await using t = await setup()
  const clients = await Promise.all([1, 2, 3].map(() => setup({ schema: t.schema })))
  let live = 0
  let most = 0
  await using worker = t.mill.worker().handle(sync, async () => {
    live += 1
    most = Math.max(most, live)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    live -= 1
  })
  await worker.start()
  const answers = await Promise.all(
    clients.map(async ({ mill }) => {
      const ids: string[] = []
      for (let n = 0; n < 60; n += 1) ids.push((await mill.enqueue(sync, { n })).id)
      return ids
    }),
  )
  expect(answers.flat().filter((id) => id.length === 26)).toHaveLength(180)
  expect(most).toBe(1)
  await Promise.all(clients.map((client) => client.close()))
})

test('O5: what a run enqueues with its own key does not meet the run', async () => {
  await using t = await setup()
  const runs: number[] = []
  await using worker = t.mill.worker().handle(sync, async ({ n }, run) => {
    runs.push(n)
    if (n < 3) await run.enqueue(sync, { n: n + 1 })
  })
  await worker.start()
  await t.mill.enqueue(sync, { n: 1 })
  await until(() => runs.length === 3)
  await until(async () => (await places(t.sql, t.schema)).finished === 3)
  expect(runs).toEqual([1, 2, 3])
})
