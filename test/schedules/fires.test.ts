import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { manualSetup, NOON, places, setup } from '../support/mill.ts'
import { notices } from '../support/notices.ts'
import { until } from '../support/until.ts'
import { boundariesOf, nextOf, startStranger } from './fired.ts'

const report = defineJob('report', { input: typed<{ of: string }>(), queue: 'reports' })
const input = { of: 'totals' }
const SECOND = 1_000
const HOUR = 3_600 * SECOND

test('S1: a cron schedule fires at its boundary, not before, with its input and options', async () => {
  await using t = await manualSetup()
  const record = await t.mill.schedule('hourly', {
    cron: '0 * * * *',
    kind: report,
    input,
    priority: 'high',
    retry: { failures: 3 },
    timeout: '5m',
  })
  expect(record).toMatchObject({
    name: 'hourly',
    kind: 'report',
    queue: 'reports',
    cron: '0 * * * *',
    everyMs: null,
    timezone: 'UTC',
    catchUp: 'last',
    overlap: 'allow',
    nextFireAt: new Date(NOON + HOUR),
    lastFireAt: null,
    lastJobId: null,
    paused: false,
  })
  await startStranger(t.mill)
  t.clock.advance(HOUR - 1)
  expect(await boundariesOf(t.mill, 'hourly')).toEqual([])
  t.clock.advance(1)
  await until(async () => (await boundariesOf(t.mill, 'hourly')).length === 1)
  const { items } = await t.mill.jobs.list({ schedule: 'hourly' }).page()
  expect(items[0]).toMatchObject({
    kind: 'report',
    queue: 'reports',
    input,
    priority: 2,
    failureLimit: 3,
    schedule: { name: 'hourly', boundary: new Date(NOON + HOUR) },
    dueAt: new Date(NOON + HOUR),
  })
  expect(await t.mill.schedules.list()).toMatchObject([
    {
      nextFireAt: new Date(NOON + 2 * HOUR),
      lastFireAt: new Date(NOON + HOUR),
      lastJobId: items[0]?.id,
    },
  ])
})

test('S2: ten workers fire each boundary once', async () => {
  await using t = await manualSetup()
  for (let each = 0; each < 10; each += 1) await startStranger(t.mill)
  await t.mill.schedule('seconds', { every: '1s', kind: report, input })
  for (let second = 1; second <= 30; second += 1) {
    t.clock.advance(SECOND)
    await until(async () => (await boundariesOf(t.mill, 'seconds')).length === second)
  }
  expect(await boundariesOf(t.mill, 'seconds')).toEqual(
    Array.from({ length: 30 }, (_, index) => NOON + (index + 1) * SECOND),
  )
})

test('replays 22: a timer that fires early finds nothing due, and the boundary is fired once', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('early', { every: '1m', kind: report, input })
  await startStranger(t.mill)
  t.clock.advance(60 * SECOND - 3)
  // Announces a change, so that the worker looks three milliseconds too early.
  await t.mill.schedule('other', { every: '1h', kind: report, input })
  t.clock.advance(2)
  expect(await boundariesOf(t.mill, 'early')).toEqual([])
  t.clock.advance(1)
  await until(async () => (await boundariesOf(t.mill, 'early')).length > 0)
  t.clock.advance(30 * SECOND)
  expect(await boundariesOf(t.mill, 'early')).toEqual([NOON + 60 * SECOND])
})

test.each([
  ['skip', []],
  ['last', [3]],
  [{ all: 2 }, [2, 3]],
  [{ all: 100 }, [1, 2, 3]],
] as const)(
  'replays 21: after three hours without a worker, catchUp %j of an hourly schedule fires %j',
  async (catchUp, hours) => {
    await using t = await manualSetup()
    await t.mill.schedule('hourly', { every: '1h', kind: report, input, catchUp })
    t.clock.advance(3 * HOUR + 20 * 60 * SECOND)
    await startStranger(t.mill)
    await until(async () => (await nextOf(t.mill, 'hourly')) === NOON + 4 * HOUR)
    expect(await boundariesOf(t.mill, 'hourly')).toEqual(hours.map((hour) => NOON + hour * HOUR))
  },
)

test('S2: catchUp skip fires a boundary that is only a little late', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('hourly', { every: '1h', kind: report, input, catchUp: 'skip' })
  t.clock.advance(2 * HOUR + 9 * SECOND)
  await startStranger(t.mill)
  await until(async () => (await boundariesOf(t.mill, 'hourly')).length > 0)
  expect(await boundariesOf(t.mill, 'hourly')).toEqual([NOON + 2 * HOUR])
})

test('S4: overlap skip fires again only when the last job has ended', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('minutes', { every: '1m', kind: report, input, overlap: 'skip' })
  await startStranger(t.mill)
  const next = (): Promise<number | undefined> => nextOf(t.mill, 'minutes')
  for (let minute = 1; minute <= 3; minute += 1) {
    t.clock.advance(60 * SECOND)
    await until(async () => (await next()) === NOON + (minute + 1) * 60 * SECOND)
  }
  expect(await boundariesOf(t.mill, 'minutes')).toEqual([NOON + 60 * SECOND])
  const [held] = await t.mill.claim({ kinds: [report], limit: 1 })
  t.clock.advance(60 * SECOND)
  await until(async () => (await next()) === NOON + 5 * 60 * SECOND)
  expect(await boundariesOf(t.mill, 'minutes')).toHaveLength(1)
  await held?.complete()
  t.clock.advance(60 * SECOND)
  await until(async () => (await boundariesOf(t.mill, 'minutes')).length === 2)
  expect(await boundariesOf(t.mill, 'minutes')).toEqual([
    NOON + 60 * SECOND,
    NOON + 5 * 60 * SECOND,
  ])
})

test('S2: more schedules than one look gives are all fired', async () => {
  await using t = await manualSetup()
  for (let each = 0; each < 130; each += 1) {
    await t.mill.schedule(`schedule ${each}`, { cron: '0 13 * * *', kind: report, input })
  }
  await startStranger(t.mill)
  t.clock.advance(HOUR)
  await until(async () => (await places(t.sql, t.schema)).ready === 130)
})

test.each(['listen', 'poll'] as const)(
  'S2: on the real clock a schedule fires in time, and its job runs (%s)',
  async (wake) => {
    await using t = await setup({ wake })
    await using other = await setup({ schema: t.schema, wake })
    const runs: number[] = []
    const worker = t.mill.worker().handle(report, (given) => {
      expect(given).toEqual(input)
      runs.push(performance.now())
    })
    await worker.start()
    // A worker that sleeps without any schedule learns of this one.
    await other.mill.schedule('soon', { every: '300ms', kind: report, input })
    await until(() => runs.length >= 3)
  },
)

test('S2: a pattern that this release cannot read holds up no other schedule, and is told by its name', async () => {
  await using t = await manualSetup()
  using told = notices(t.schema)
  await t.mill.schedule('odd', { cron: '0 * * * *', kind: report, input })
  await t.mill.schedule('even', { cron: '0 * * * *', kind: report, input })
  await t.sql.query(
    `update schedules set cron = '0 * * * * of a later release' where schedule = 'odd'`,
  )
  await startStranger(t.mill)
  t.clock.advance(HOUR)
  await until(async () => (await boundariesOf(t.mill, 'even')).length === 1)
  expect(told.facts.some((facts) => JSON.stringify(facts).includes('odd'))).toBe(true)
  expect(await boundariesOf(t.mill, 'odd')).toEqual([])
})
