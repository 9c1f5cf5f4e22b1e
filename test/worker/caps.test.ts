import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const heavy = defineJob('heavy', { input: typed<string>() })
const light = defineJob('light', { input: typed<string>() })

test('C4: a worker runs as many jobs at once as its concurrency, no more, while many wait', async () => {
  await using bench = await setup()
  const { mill } = bench
  using runs = gate()
  await mill.enqueueMany(light, inputs(200))
  const worker = mill.worker({ concurrency: 7 }).handle(light, runs.enter)
  await worker.start()
  await until(() => runs.now === 7)
  runs.open()
  await until(() => runs.names.length === 200)
  expect(runs.most).toBe(7)
})

test('C4: a kind has its own cap, and leaves the other slots to other kinds', async () => {
  await using bench = await setup()
  const { mill } = bench
  using heavies = gate()
  using lights = gate()
  await mill.enqueueMany(heavy, inputs(100), { priority: 'high' })
  await mill.enqueueMany(light, inputs(100), { priority: 'low' })
  const worker = mill
    .worker({ concurrency: 8 })
    .handle(heavy, heavies.enter, { concurrency: 3 })
    .handle(light, lights.enter)
  await worker.start()
  await until(() => heavies.now === 3 && lights.now === 5)
  lights.open()
  // The capped kind starves nobody, though it is ahead of them.
  await until(() => lights.names.length === 100)
  expect(heavies.now).toBe(3)
  heavies.open()
  await until(() => heavies.names.length === 100)
  expect([heavies.most, lights.most]).toEqual([3, 5])
})

test('C4: the others do not starve a capped kind either', async () => {
  await using bench = await setup()
  const { mill } = bench
  using heavies = gate()
  using lights = gate()
  await mill.enqueueMany(light, inputs(300), { priority: 'low' })
  const worker = mill
    .worker({ concurrency: 4 })
    .handle(heavy, heavies.enter, { concurrency: 1 })
    .handle(light, lights.enter)
  await worker.start()
  await until(() => lights.now === 4)
  await mill.enqueueMany(heavy, inputs(5))
  heavies.open()
  lights.open()
  await until(() => heavies.names.length === 5)
  await until(() => lights.names.length === 300)
  expect(heavies.most).toBe(1)
})

test('C4: a kind at its cap leaves its jobs to another worker', async () => {
  await using bench = await setup()
  const { mill } = bench
  using here = gate()
  using there = gate()
  await mill.enqueueMany(heavy, inputs(6))
  const one = mill.worker({ concurrency: 10 }).handle(heavy, here.enter, { concurrency: 2 })
  const two = mill.worker({ concurrency: 10 }).handle(heavy, there.enter)
  await one.start()
  await until(() => here.now === 2)
  await two.start()
  await until(() => there.now === 4)
  here.open()
  there.open()
})

test('C4: a queue has its own cap, over all its kinds and levels', async () => {
  await using bench = await setup()
  const { mill } = bench
  using mail = gate()
  using rest = gate()
  for (const [index, input] of inputs(40).entries()) {
    const kind = index % 2 === 0 ? heavy : light
    const priority = index % 3 === 0 ? 'high' : 'low'
    await mill.enqueue(kind, input, { queue: 'mail', priority })
  }
  await mill.enqueueMany(
    light,
    inputs(40).map((name) => `rest ${name}`),
    { queue: 'rest' },
  )
  const byQueue = (name: string): Promise<void> =>
    name.startsWith('rest') ? rest.enter(name) : mail.enter(name)
  const worker = mill
    .worker({ queues: { mail: 2, rest: 9 }, concurrency: 6 })
    .handle(heavy, byQueue)
    .handle(light, byQueue)
  await worker.start()
  await until(() => mail.now === 2 && rest.now === 4)
  rest.open()
  await until(() => rest.names.length === 40)
  mail.open()
  await until(() => mail.names.length === 40)
  expect(mail.most).toBe(2)
})

test('C4: caps of kind and queue hold together', async () => {
  await using bench = await setup()
  const { mill } = bench
  using heavies = gate()
  using lights = gate()
  for (const queue of ['a', 'b']) {
    await mill.enqueueMany(heavy, inputs(30), { queue })
    await mill.enqueueMany(light, inputs(30), { queue })
  }
  const worker = mill
    .worker({ queues: { a: 3, b: 20 }, concurrency: 12 })
    .handle(heavy, heavies.enter, { concurrency: 2 })
    .handle(light, lights.enter, { concurrency: 5 })
  await worker.start()
  await until(() => heavies.now === 2 && lights.now === 5)
  heavies.open()
  lights.open()
  await until(() => heavies.names.length === 60 && lights.names.length === 60)
  expect([heavies.most, lights.most]).toEqual([2, 5])
})

function inputs(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => String(index))
}
