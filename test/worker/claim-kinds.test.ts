import { expect, test } from 'vitest'
import { defineHandlers, defineJob, typed, UnknownKindError } from '../../src/index.ts'
import { handledKind } from '../../src/worker/handlers.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const known = defineJob('known', { input: typed<string>() })
const unknown = defineJob('unknown', { input: typed<string>() })

test('C2: jobs of kinds that a worker does not handle stay pending for other workers', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const started: string[] = []
  const first = mill.worker().handle(known, (name) => {
    started.push(name)
  })
  await mill.enqueue(unknown, 'b')
  await mill.enqueue(known, 'a')
  await first.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await places(sql, schema)).toMatchObject({ ready: 1, leases: 0 })

  const second = mill.worker().handle(unknown, (name) => {
    started.push(name)
  })
  await second.start()
  await until(async () => (await places(sql, schema)).finished === 2)
  expect(started).toEqual(['a', 'b'])
  await assertOnePlace(sql, schema)
})

test('C2: a thousand jobs of unknown kinds in front hide none of those behind them', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await mill.enqueueMany(
    unknown,
    Array.from({ length: 1_000 }, () => 'x'),
    { priority: 'normal' },
  )
  await mill.enqueueMany(
    known,
    Array.from({ length: 50 }, () => 'y'),
    { priority: 'normal' },
  )
  let started = 0
  const worker = mill.worker({ concurrency: 5 }).handle(known, () => {
    started += 1
  })
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 50)
  expect(started).toBe(50)
  expect(await places(sql, schema)).toMatchObject({ ready: 1_000, leases: 0 })
})

test('C2: handling a kind twice is an error that names it, in a worker as in handlers', async () => {
  await using bench = await setup()
  const twin = defineJob('known', { input: typed<string>() })
  const handlers = defineHandlers().handle(known, () => undefined)
  const worker = bench.mill.worker().use(handlers)
  const twice = [
    () => worker.handle(twin, () => undefined),
    () => worker.use(defineHandlers().handle(twin, () => undefined)),
    () => worker.use(handlers),
  ]
  for (const call of twice) {
    expect(call).toThrow(UnknownKindError)
    expect(call).toThrow('kind "known" has a handler here already')
  }
  // @ts-expect-error: in a chain the compiler says so, too
  expect(() => handlers.handle(known, () => undefined)).toThrow(UnknownKindError)
})

test('C2: handlers are values: adding one leaves those that were shared as they were', () => {
  const shared = defineHandlers()
  const one = shared.handle(known, () => undefined)
  const other = shared.handle(known, () => undefined)
  expect(one).not.toBe(other)
})

test('C2: a handler must be a function, and its concurrency a whole number from 1 up', () => {
  expect(() => handledKind(known, 'send')).toThrow(/option "handler" got "send"/)
  for (const concurrency of [0, -1, 1.5, Number.NaN]) {
    expect(() => handledKind(known, () => undefined, { concurrency })).toThrow(
      /option "concurrency" got/,
    )
  }
})

test('C2: handlers come before the start, and a worker without any does not start', async () => {
  await using bench = await setup()
  await expect(bench.mill.worker().start()).rejects.toThrow(
    /handle\(\) or use\(\) before start\(\)/,
  )
  const worker = bench.mill.worker().handle(known, () => undefined)
  await worker.start()
  expect(() => worker.handle(unknown, () => undefined)).toThrow(/the worker has started/)
})
