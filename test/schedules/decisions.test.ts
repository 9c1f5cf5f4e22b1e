import { expect, test } from 'vitest'
import { defineJob, UnknownScheduleError } from '../../src/index.ts'
import { manualSetup, NOON, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'
import { boundariesOf, nextOf, startStranger } from './fired.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 1_440 * MINUTE
const sweep = defineJob('sweep')

test('S4: a paused schedule does not fire; resumed it goes on in its phase, without a flood', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  await mill.schedule('s', { every: '10m', kind: sweep, catchUp: { all: 1_000 } })
  await mill.schedule('beside', { every: '1d', kind: sweep })
  await startStranger(mill)
  await mill.schedules.pause('s')
  await mill.schedules.pause('s')
  expect(await mill.schedules.list()).toMatchObject([
    { name: 'beside', paused: false },
    { name: 's', paused: true, nextFireAt: null },
  ])
  clock.advance(30 * DAY + 4 * MINUTE)
  await until(async () => (await nextOf(mill, 'beside')) === NOON + 31 * DAY)
  expect(await mill.schedules.next('s', 2)).toEqual([
    new Date(NOON + 30 * DAY + 10 * MINUTE),
    new Date(NOON + 30 * DAY + 20 * MINUTE),
  ])
  await mill.schedules.resume('s')
  await mill.schedules.resume('s')
  expect(await nextOf(mill, 's')).toBe(NOON + 30 * DAY + 10 * MINUTE)
  clock.advance(6 * MINUTE)
  await until(async () => (await boundariesOf(mill, 's')).length === 1)
  expect(await boundariesOf(mill, 's')).toEqual([NOON + 30 * DAY + 10 * MINUTE])
})

test('S4: registering a paused schedule again, even with another timing, does not resume it', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { every: '10m', kind: sweep })
  await t.mill.schedules.pause('s')
  await t.mill.schedule('s', { every: '5m', kind: sweep })
  expect(await t.mill.schedules.list()).toMatchObject([{ paused: true, everyMs: 5 * MINUTE }])
})

test('S4: resume is strictly after now, also on a boundary', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { cron: '*/10 * * * *', kind: sweep })
  await t.mill.schedules.pause('s')
  t.clock.advance(20 * MINUTE)
  await t.mill.schedules.resume('s')
  expect(await nextOf(t.mill, 's')).toBe(NOON + 30 * MINUTE)
})

test('S4: next shows the boundaries to come', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { cron: '30 2 * * *', timezone: 'Europe/Berlin', kind: sweep })
  expect(await t.mill.schedules.next('s', 2)).toEqual([
    new Date('2025-06-16T00:30Z'),
    new Date('2025-06-17T00:30Z'),
  ])
  expect(await t.mill.schedules.next('s')).toHaveLength(5)
  expect(await t.mill.schedules.next('s', 0)).toEqual([])
  expect(await t.mill.schedules.next('s', -1)).toEqual([])
  expect(await t.mill.schedules.next('s', 1_000)).toHaveLength(1_000)
  await expect(t.mill.schedules.next('s', 1_001)).rejects.toThrow('up to 1000')
  await expect(t.mill.schedules.next('s', 1.5)).rejects.toThrow('whole number')
})

test('S4: runNow enqueues beside the boundaries, paused or not, and again in the same millisecond', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  await mill.schedule('s', { every: '1s', kind: sweep })
  await mill.schedule('minutes', { cron: '* * * * *', kind: sweep })
  const { id, outcome } = await mill.schedules.runNow('s')
  expect(outcome).toBe('inserted')
  expect(await mill.jobs.get(id)).toMatchObject({
    kind: 'sweep',
    schedule: { name: 's', boundary: new Date(NOON + 1) },
  })
  expect(await mill.schedules.list()).toMatchObject([
    { name: 'minutes' },
    { lastJobId: id, lastFireAt: new Date(NOON + 1), nextFireAt: new Date(NOON + SECOND) },
  ])
  await mill.schedules.pause('minutes')
  await Promise.all([1, 2, 3].map(() => mill.schedules.runNow('minutes')))
  expect(await boundariesOf(mill, 'minutes')).toEqual([NOON + 1, NOON + 2, NOON + 3])
  await startStranger(mill)
  clock.advance(SECOND)
  await until(async () => (await boundariesOf(mill, 's')).length === 2)
  expect(await boundariesOf(mill, 's')).toEqual([NOON + 1, NOON + SECOND])
})

test('S4: runNow runs beside a last job that lives, and counts as the last one', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  await mill.schedule('s', { every: '1m', kind: sweep, overlap: 'skip' })
  await mill.schedules.runNow('s')
  await mill.schedules.runNow('s')
  await startStranger(mill)
  clock.advance(MINUTE)
  await until(async () => (await nextOf(mill, 's')) === NOON + 2 * MINUTE)
  expect(await boundariesOf(mill, 's')).toEqual([NOON + 1, NOON + 2])
})

test('S4: what is decided about a schedule that is not there says so', async () => {
  await using t = await setup()
  const { schedules } = t.mill
  for (const verb of ['next', 'pause', 'resume', 'runNow'] as const) {
    const refused = schedules[verb]('nobody')
    await expect(refused).rejects.toThrow(UnknownScheduleError)
    await expect(refused).rejects.toMatchObject({ code: 'UNKNOWN_SCHEDULE', schedule: 'nobody' })
  }
  expect(await schedules.remove('nobody')).toBe(false)
})

test('S4: a removed schedule fires no more, and its jobs stay', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { every: '1m', kind: sweep })
  await t.mill.schedule('beside', { every: '1m', kind: sweep })
  await t.mill.schedules.runNow('s')
  expect(await t.mill.schedules.remove('s')).toBe(true)
  await startStranger(t.mill)
  t.clock.advance(MINUTE)
  await until(async () => (await boundariesOf(t.mill, 'beside')).length === 1)
  expect(await boundariesOf(t.mill, 's')).toEqual([NOON + 1])
})

test('S4: prune removes what is not declared, of one application where its names begin alike', async () => {
  await using t = await setup()
  const { schedules } = t.mill
  const names = ['a/old', 'a/new', 'b/old', 'B%_\\"{},']
  for (const name of names) await t.mill.schedule(name, { every: '1h', kind: sweep })
  expect(await schedules.prune(['a/new'], { prefix: 'a/', dryRun: true })).toEqual(['a/old'])
  expect(await schedules.list()).toHaveLength(4)
  expect(await schedules.prune(['a/new'], { prefix: 'a/' })).toEqual(['a/old'])
  expect(await schedules.prune(new Set(['B%_\\"{},', 'a/new', 'b/old']))).toEqual([])
  expect(await schedules.prune([])).toEqual(['B%_\\"{},', 'a/new', 'b/old'])
  await expect(schedules.prune('a/new')).rejects.toThrow('give a list of all names')
  // @ts-expect-error: no such option
  await expect(schedules.prune([], { prefx: 'a' })).rejects.toThrow('Did you mean prefix?')
})

// They wait for the most part: beside each other.
test.concurrent.each(['listen', 'poll'] as const)(
  'S4: every worker learns of a new schedule, a pause, a change and a removal within a second (%s)',
  async (wake) => {
    await using t = await setup({ wake })
    await using other = await setup({ schema: t.schema, wake })
    await startStranger(t.mill)
    const fired = async (): Promise<number> => (await boundariesOf(t.mill, 's')).length
    const nothingFor = async (ms: number): Promise<void> => {
      const before = await fired()
      const end = performance.now() + ms
      await until(() => performance.now() > end)
      expect(await fired()).toBe(before)
    }
    await other.mill.schedule('s', { every: '1d', kind: sweep })
    await other.mill.schedule('s', { every: '100ms', kind: sweep })
    await until(async () => (await fired()) >= 2, { ms: 2_500 })
    await other.mill.schedules.pause('s')
    // From then on: a fire that was under way is over when the pause is answered.
    await nothingFor(1_200)
    await other.mill.schedules.resume('s')
    const resumed = await fired()
    await until(async () => (await fired()) > resumed, { ms: 2_500 })
    await other.mill.schedules.remove('s')
    await nothingFor(500)
  },
)
