import { expect, test } from 'vitest'
import { ClosedError, defineJob, typed } from '../../src/index.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  manualSetup,
  places,
  setup,
} from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })

test('replay 14: start and then stop at once, stop twice, stop without a start: all clean', async () => {
  await using bench = await setup()
  const { mill } = bench
  const make = () => mill.worker().handle(visit, () => undefined)

  const atOnce = make()
  const starting = atOnce.start()
  await Promise.all([starting, atOnce.stop()])

  const twice = make()
  await twice.start()
  await Promise.all([twice.stop(), twice.stop()])
  await twice.stop()

  const never = make()
  await never.stop()
  await expect(never.start()).rejects.toThrow(ClosedError)
  await expect(twice.start()).rejects.toThrow(/this worker is closed/)
})

test('replay 14: starting twice is one start', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  let most = 0
  let now = 0
  const worker = mill.worker({ concurrency: 2 }).handle(visit, async () => {
    now += 1
    most = Math.max(most, now)
    await new Promise((resolve) => setImmediate(resolve))
    now -= 1
  })
  await mill.enqueueMany(visit, [1, 2, 3, 4, 5, 6])
  await Promise.all([worker.start(), worker.start()])
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 6)
  expect(most).toBeLessThanOrEqual(2)
})

test('replay 14: fifty rounds on ten workers lose nothing, double nothing, and leave nothing behind', async () => {
  const before = resources()
  const bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  let ends = 0
  for (let round = 0; round < 50; round += 1) {
    const workers = Array.from({ length: 10 }, () =>
      mill.worker({ concurrency: 3 }).handle(visit, async () => {
        await new Promise((resolve) => setImmediate(resolve))
        ends += 1
      }),
    )
    const started = workers.map((worker) => worker.start())
    await mill.enqueueMany(visit, [1, 2, 3])
    // Some are stopped while they start, some at work, some twice.
    const stopped = workers.flatMap((worker, index) =>
      index % 3 === 0 ? [worker.stop()] : [worker.stop(), worker.stop()],
    )
    await Promise.all([...started, ...stopped])
  }
  const rest = mill.worker({ concurrency: 50 }).handle(visit, () => {
    ends += 1
  })
  await rest.start()
  await until(async () => (await places(sql, schema)).finished === 150)
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
  // An abandoned handler may have ended after its job was released: at least once, never twice settled.
  expect(ends).toBeGreaterThanOrEqual(150)

  await mill.close()
  expect(clock.timers).toBe(0)
  const names = `select application_name from pg_stat_activity
    where datname = current_database() and application_name like 'millrace%'`
  await until(async () => (await sql.query(names)).rows.length === 0)
  await bench.close()
  await until(() => {
    expect(resources()).toEqual(before)
    return true
  })
}, 90_000)

test('X3: run resolves when its signal has stopped everything, and at once when that is aborted already', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const controller = new AbortController()
  let ends = 0
  const worker = mill.worker().handle(visit, () => {
    ends += 1
    controller.abort()
  })
  await mill.enqueue(visit, 1)
  await worker.run({ signal: controller.signal })
  expect(ends).toBe(1)
  expect(await places(sql, schema)).toMatchObject({ finished: 1, leases: 0 })

  const late = mill.worker().handle(visit, () => undefined)
  await late.run({ signal: controller.signal })
  await expect(late.start()).rejects.toThrow(ClosedError)
})

test('X3: run without a signal resolves when stop does, and leaves no listener on a signal that lives on', async () => {
  await using bench = await setup()
  const { mill } = bench
  const worker = mill.worker().handle(visit, () => undefined)
  const running = worker.run()
  await worker.stop()
  await running

  const { signal } = new AbortController()
  let listeners = 0
  const counted = Object.create(signal, {
    addEventListener: { value: () => void (listeners += 1) },
    removeEventListener: { value: () => void (listeners -= 1) },
    aborted: { value: false },
  })
  const other = mill.worker().handle(visit, () => undefined)
  const second = other.run({ signal: counted })
  await other.stop()
  await second
  expect(listeners).toBe(0)
})

test('X3: a worker is disposed of like anything that opens', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  {
    await using worker = mill.worker().handle(visit, () => undefined)
    await mill.enqueue(visit, 1)
    await worker.start()
    await until(async () => (await places(sql, schema)).finished === 1)
  }
  await mill.enqueue(visit, 2)
  expect(await places(sql, schema)).toMatchObject({ ready: 1 })
})

test('X3: a closed client makes no worker and starts none', async () => {
  const bench = await setup()
  const waiting = bench.mill.worker().handle(visit, () => undefined)
  await bench.close()
  expect(() => bench.mill.worker()).toThrow(ClosedError)
  await expect(waiting.start()).rejects.toThrow(ClosedError)
})

/** What keeps this process busy, by kind, but for the timers and pipes of the test runner itself. */
function resources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind === 'TCPSocketWrap' || kind === 'TCPServerWrap') counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}
