import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })

test('C1: within a queue the better priority runs first, then the earlier due time, then the earlier id', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  const places = shuffled(
    [0, 2, 5, 9].flatMap((priority) => [0, 1, 2].map((seconds) => ({ priority, seconds }))),
  )
  const names = ({ priority, seconds }: (typeof places)[number]) => `${priority} ${seconds}`
  for (const place of [...places, ...places]) {
    await mill.enqueue(visit, names(place), {
      priority: isPriority(place.priority) ? place.priority : undefined,
      delay: place.seconds * 1_000,
    })
  }
  clock.advance(5_000)
  const started: string[] = []
  const options = { concurrency: 1, fairness: 'strict' } as const
  const worker = mill.worker(options).handle(visit, (place) => {
    started.push(place)
  })
  await worker.start()
  await until(() => started.length === 24)
  const sorted = places.map(names).toSorted()
  expect(started).toEqual(sorted.flatMap((place) => [place, place]))
})

test('C1: jobs that one claim brings start in the same order', async () => {
  await using bench = await setup()
  const { mill } = bench
  const order = ['f', 'b', 'd', 'a', 'e', 'c']
  for (const [index, name] of order.entries()) {
    await mill.enqueue(visit, name, { priority: index < 3 ? 'low' : 'high' })
  }
  const started: string[] = []
  const worker = mill.worker({ concurrency: 10 }).handle(visit, (name) => {
    started.push(name)
  })
  await worker.start()
  await until(() => started.length === order.length)
  expect(started.join('')).toBe('aecfbd')
})

test('C1: jobs that have a slot start in the order of the claim, whichever has its last try', async () => {
  await using bench = await setup()
  const { mill } = bench
  const names = Array.from({ length: 20 }, (_, index) => String(index))
  await mill.enqueueMany(visit, names, (name) => ({ retry: { failures: name === '15' ? 1 : 5 } }))
  const started: string[] = []
  await using worker = mill.worker({ concurrency: 20 }).handle(visit, (name) => {
    started.push(name)
  })
  await worker.start()
  await until(() => started.length === names.length)
  expect(started).toEqual(names)
})

test('C1: jobs of one producer run in the order they were asked for', async () => {
  await using bench = await setup()
  const { mill } = bench
  const inputs = Array.from({ length: 300 }, (_, index) => String(index))
  await Promise.all(inputs.map((input) => mill.enqueue(visit, input)))
  const started: string[] = []
  const worker = mill.worker({ concurrency: 7 }).handle(visit, (input) => {
    started.push(input)
  })
  await worker.start()
  await until(() => started.length === inputs.length)
  expect(started).toEqual(inputs)
})

test('C1: the queues of a worker take turns', async () => {
  await using bench = await setup()
  const { mill } = bench
  for (const queue of ['a', 'b', 'c']) {
    for (let count = 0; count < 4; count += 1) await mill.enqueue(visit, queue, { queue })
  }
  const started: string[] = []
  const options = { queues: ['a', 'b', 'c'], concurrency: 1, ahead: 0 }
  const worker = mill.worker(options).handle(visit, (queue) => {
    started.push(queue)
  })
  await worker.start()
  await until(() => started.length === 12)
  expect(started.join('')).toBe('abcabcabcabc')
})

test('C1: an empty queue gives its turn to the next, and a queue nobody named stays as it is', async () => {
  await using bench = await setup()
  const { mill } = bench
  const other = await mill.enqueue(visit, 'other', { queue: 'other' })
  for (let count = 0; count < 3; count += 1) await mill.enqueue(visit, 'b', { queue: 'b' })
  const started: string[] = []
  const worker = mill.worker({ queues: ['a', 'b'], concurrency: 1 }).handle(visit, (queue) => {
    started.push(queue)
  })
  await worker.start()
  await until(() => started.length === 3)
  await worker.stop()
  expect(started).toEqual(['b', 'b', 'b'])
  expect(await mill.jobs.get(other.id)).toMatchObject({ state: 'pending', run: 0 })
})

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)) || 1)
    .toReversed()
}

function isPriority(level: number): level is 0 | 2 | 5 | 9 {
  return [0, 2, 5, 9].includes(level)
}
