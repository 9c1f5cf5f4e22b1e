import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { Mill, Priority, WorkerOptions } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })
const guest = defineJob('guest', { input: typed<number>() })

test.each([1, 7, 16, 50])(
  'C3: with %d slots three levels under saturation run 12 : 3 : 1',
  async (concurrency) => {
    await using bench = await setup()
    const { mill } = bench
    await fill(mill, [2, 5, 8], 400)
    const started = await startedOf(mill, { concurrency }, 320)
    expect(counted(started.slice(0, 320))).toEqual({ 2: 240, 5: 60, 8: 20 })
  },
)

test("C3: 'strict' always takes the best level first", async () => {
  await using bench = await setup()
  const { mill, schema } = bench
  using statements = watchStatements(schema)
  await fill(mill, [2, 5, 8], 100)
  const started = await startedOf(mill, { concurrency: 10, fairness: 'strict' }, 150)
  expect(counted(started.slice(0, 150))).toEqual({ 2: 100, 5: 50 })
  expect(statements.count('waiting_levels')).toBe(0)
})

test('C3: { rotate: 2 } gives the lower of two levels every second slot', async () => {
  await using bench = await setup()
  const { mill } = bench
  await fill(mill, [0, 9], 200)
  const started = await startedOf(mill, { concurrency: 4, fairness: { rotate: 2 } }, 100)
  expect(counted(started.slice(0, 100))).toEqual({ 0: 50, 9: 50 })
})

test('C3: ten levels have their turns, and all of everything runs', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const levels = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const
  await fill(mill, levels, 120)
  const options = { concurrency: 20, fairness: { rotate: 2 } } as const
  const started = await startedOf(mill, options, 1_200)
  const first = counted(started.slice(0, 128))
  expect(levels.map((level) => first[level] ?? 0)).toEqual([64, 32, 16, 8, 4, 2, 1, 1, 0, 0])
  expect(counted(started)).toEqual(Object.fromEntries(levels.map((level) => [level, 120])))
  await until(async () => (await places(sql, schema)).finished === 1_200)
  await assertOnePlace(sql, schema)
})

test('C3: a reserved level that is empty falls back at once, no slot stays free', async () => {
  await using bench = await setup()
  const { mill } = bench
  const runs = gate()
  await mill.enqueueMany(visit, numbers(60), { priority: 2 })
  await mill.enqueueMany(visit, [-1], { priority: 8 })
  const worker = mill
    .worker({ concurrency: 16 })
    .handle(visit, (number) => runs.enter(String(number)))
  await worker.start()
  await until(() => runs.now === 16)
  // Its only job runs: from here on the lower level gives nothing of what is reserved for it.
  expect(runs.names).toContain('-1')
  runs.open()
  await until(() => runs.names.length === 61)
})

test('C3: a level better than all that were known to wait is taken with the next claim', async () => {
  await using bench = await setup()
  const { mill } = bench
  const started: number[] = []
  await fill(mill, [5, 8], 300)
  const worker = mill.worker({ concurrency: 4, ahead: 0 }).handle(visit, async (level) => {
    started.push(level)
    if (started.length === 40) await mill.enqueueMany(visit, [0, 0, 0], { priority: 0 })
  })
  await worker.start()
  await until(() => started.length === 603)
  const urgent = started.flatMap((level, index) => (level === 0 ? [index] : []))
  expect(urgent).toHaveLength(3)
  expect(urgent.at(-1)).toBeLessThan(60)
})

test('C3: each queue has its own rotation, and the queues take turns as before', async () => {
  await using bench = await setup()
  const { mill } = bench
  const started: string[] = []
  for (const queue of ['a', 'b']) {
    for (const priority of [2, 8] as const) {
      await mill.enqueueMany(
        visit,
        Array.from({ length: 200 }, () => priority),
        { queue, priority },
      )
    }
  }
  const worker = mill
    .worker({ queues: ['a', 'b'], concurrency: 1, ahead: 0 })
    .handle(visit, (level, run) => {
      started.push(`${run.queue}${level}`)
    })
  await worker.start()
  await until(() => started.length >= 128)
  const first = started.slice(0, 128)
  const count = (name: string): number => first.filter((each) => each === name).length
  expect([count('a2'), count('a8'), count('b2'), count('b8')]).toEqual([48, 16, 48, 16])
})

test('C4: caps of kind, queue and worker hold while levels take turns', async () => {
  await using bench = await setup()
  const { mill } = bench
  const visits = gate()
  const guests = gate()
  for (const queue of ['a', 'b']) {
    for (const priority of [1, 4, 7] as const) {
      await mill.enqueueMany(visit, numbers(40), { queue, priority })
      await mill.enqueueMany(guest, numbers(40), { queue, priority })
    }
  }
  let most = 0
  let now = 0
  const inA = async (queue: string, runs: Promise<void>): Promise<void> => {
    if (queue === 'a') most = Math.max(most, (now += 1))
    await runs
    if (queue === 'a') now -= 1
  }
  const worker = mill
    .worker({ queues: { a: 5, b: 20 }, concurrency: 12 })
    .handle(visit, (_, run) => inA(run.queue, visits.enter(run.id)), { concurrency: 3 })
    .handle(guest, (_, run) => inA(run.queue, guests.enter(run.id)))
  await worker.start()
  await until(() => visits.now === 3 && guests.now === 9)
  visits.open()
  guests.open()
  await until(() => visits.names.length === 240 && guests.names.length === 240)
  expect(visits.most).toBe(3)
  expect(most).toBeLessThanOrEqual(5)
  expect(guests.most).toBeLessThanOrEqual(12)
})

test('C3: where one level waits, claims stay the lean ones', async () => {
  await using bench = await setup()
  const { mill, schema } = bench
  await mill.enqueueMany(visit, numbers(400))
  using statements = watchStatements(schema)
  await startedOf(mill, { concurrency: 10, ahead: 0 }, 400)
  expect(statements.count('claim_jobs')).toBeGreaterThan(10)
  expect(statements.count('claim_jobs_within_caps')).toBe(0)
  expect(statements.count('waiting_levels')).toBeLessThan(10)
})

test('C3: two workers that rotate leave nothing behind', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  await fill(mill, [1, 5, 9], 700)
  const started: string[] = []
  const workers = [6, 11].map((concurrency) =>
    mill.worker({ concurrency }).handle(visit, (_, run) => {
      started.push(run.id)
    }),
  )
  await Promise.all(workers.map((worker) => worker.start()))
  await until(async () => (await places(sql, schema)).finished === 2_100)
  expect(new Set(started).size).toBe(2_100)
  expect(started).toHaveLength(2_100)
  await assertOnePlace(sql, schema)
})

test.each([
  ['fast', '"fairness" got "fast"'],
  [{ rotate: 1 }, '"fairness.rotate" got 1'],
  [{ rotate: 2.5 }, '"fairness.rotate" got 2.5'],
  [{ turn: 4 }, 'fairness has no such option'],
  [null, '"fairness" got null'],
])('fairness %j is an error that says what it takes', async (fairness, message) => {
  await using bench = await setup()
  // @ts-expect-error -- from JavaScript anything may come
  expect(() => bench.mill.worker({ fairness })).toThrow(message)
})

async function fill(mill: Mill, levels: readonly Priority[], count: number): Promise<void> {
  for (const priority of levels) {
    const inputs = Array.from({ length: count }, () => Number(priority))
    await mill.enqueueMany(visit, inputs, { priority })
  }
}

/** The levels in the order in which their jobs were started, at least so many. */
async function startedOf(
  mill: Mill,
  options: WorkerOptions,
  least: number,
): Promise<readonly number[]> {
  const started: number[] = []
  const worker = mill.worker(options).handle(visit, (level) => {
    started.push(level)
  })
  await worker.start()
  await until(() => started.length >= least)
  return started
}

function counted(levels: readonly number[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const level of levels) counts[level] = (counts[level] ?? 0) + 1
  return counts
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
