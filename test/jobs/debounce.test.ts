import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const input = typed<{ n: number }>()
const save = defineJob('save', { input, dedup: { key: 'k', debounce: '10s' } })
const bounded = defineJob('bounded', {
  input,
  dedup: { key: 'k', debounce: '10s', atMost: '25s' },
})

async function dueAfter(t: ManualSetup, id: string): Promise<number> {
  const job = await t.mill.jobs.get(id)
  if (job?.state !== 'pending') throw new Error('it does not wait')
  return (job.dueAt.getTime() - NOON) / 1_000
}

test('D7: a debounced job is due when its key was quiet for the window', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(save, { n: 1 })
  expect(await dueAfter(t, id)).toBe(10)
  for (const second of [4, 9, 18]) {
    t.clock.advance(NOON + second * 1_000 - t.clock.now())
    expect(await t.mill.enqueue(save, { n: second })).toMatchObject({ id, outcome: 'replaced' })
    expect(await dueAfter(t, id)).toBe(second + 10)
  }
})

test('D7: it never waits longer than the maximum since the first ask', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(bounded, { n: 1 })
  for (const [second, due] of [
    [8, 18],
    [14, 24],
    [20, 25],
    [24, 25],
  ] as const) {
    t.clock.advance(NOON + second * 1_000 - t.clock.now())
    await t.mill.enqueue(bounded, { n: second })
    expect(await dueAfter(t, id)).toBe(due)
  }
})

test('D7: a maximum below the window is the window', async () => {
  await using t = await manualSetup()
  const dedup = { key: 'k', debounce: '10s', atMost: '3s' } as const
  const { id } = await t.mill.enqueue(defineJob('eager', { input, dedup }), { n: 1 })
  expect(await dueAfter(t, id)).toBe(3)
})

test('replays 18: five payloads in one window are one run, with the last', async () => {
  await using t = await manualSetup()
  const runs: number[] = []
  await using worker = t.mill.worker().handle(save, ({ n }) => void runs.push(n))
  await worker.start()
  for (const n of [1, 2, 3, 4, 5]) {
    await t.mill.enqueue(save, { n })
    t.clock.advance(1_000)
  }
  t.clock.advance(8_999)
  const next = await t.mill.enqueue(save, { n: 6 }, { dedup: 'another' })
  expect(next.outcome).toBe('inserted')
  expect(runs).toEqual([])
  t.clock.advance(10_000)
  await until(() => runs.length === 2)
  expect(runs.toSorted((a, b) => a - b)).toEqual([5, 6])
})

test('D7, E5: in one call the last input of a key counts', async () => {
  await using t = await manualSetup()
  const results = await t.mill.enqueueMany(save, [{ n: 1 }, { n: 2 }, { n: 3 }])
  expect(results.map(({ outcome }) => outcome)).toEqual(['inserted', 'replaced', 'replaced'])
  expect(await t.mill.jobs.get(results[0]?.id ?? '')).toMatchObject({ input: { n: 3 } })
})

test('D7: what is asked while the job runs waits for its own quiet', async () => {
  await using t = await manualSetup()
  let end: (() => void) | undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const runs: number[] = []
  await using worker = t.mill.worker().handle(save, async ({ n }) => {
    runs.push(n)
    await ended
  })
  await worker.start()
  await t.mill.enqueue(save, { n: 1 })
  t.clock.advance(10_000)
  await until(() => runs.length === 1)
  const { id, outcome } = await t.mill.enqueue(save, { n: 2 })
  expect(outcome).toBe('inserted')
  expect(await dueAfter(t, id)).toBe(20)
  end?.()
  t.clock.advance(10_000)
  await until(() => runs.length === 2)
  expect(runs).toEqual([1, 2])
})
