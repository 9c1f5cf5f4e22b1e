import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, InvalidInputError, InvalidNameError, typed } from '../../src/index.ts'
import { manualSetup, NOON, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'
import { boundariesOf, nextOf, startStranger } from './fired.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const sweep = defineJob('sweep')
const report = defineJob('report', { input: typed<{ of: string }>() })

test('S1: registering an unchanged schedule keeps its next fire and writes nothing', async () => {
  await using t = await manualSetup()
  const options = { every: '10m', kind: report, input: { of: 'a' }, catchUp: { all: 3 } } as const
  const first = await t.mill.schedule('s', options)
  const version = async () => (await t.sql.query('select xmin::text from schedules')).rows
  const before = await version()
  t.clock.advance(7 * MINUTE)
  expect(await t.mill.schedule('s', { ...options })).toEqual(first)
  expect(await version()).toEqual(before)
  expect(first.nextFireAt).toEqual(new Date(NOON + 10 * MINUTE))
})

test('S1: a changed timing fires next at its first boundary after now; other changes keep the next fire', async () => {
  await using t = await manualSetup()
  const spec = { kind: report, input: { of: 'a' } }
  const next = () => nextOf(t.mill, 's')
  await t.mill.schedule('s', { ...spec, every: '10m' })
  t.clock.advance(7 * MINUTE)
  await t.mill.schedule('s', { ...spec, every: '10m', input: { of: 'b' }, priority: 'high' })
  expect(await next()).toBe(NOON + 10 * MINUTE)
  await t.mill.schedule('s', { ...spec, every: '5m' })
  expect(await next()).toBe(NOON + 12 * MINUTE)
  await t.mill.schedule('s', { ...spec, cron: '7 * * * *' })
  expect(await next()).toBe(NOON + 67 * MINUTE)
  await t.mill.schedule('s', { ...spec, cron: '0 15 * * *' })
  await t.mill.schedule('s', { ...spec, cron: '0 15 * * *', timezone: 'Europe/Berlin' })
  expect(await next()).toBe(NOON + 60 * MINUTE)
})

test('S1: what changed counts for the fire that is due, and its jobs', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { every: '10m', kind: report, input: { of: 'old' } })
  await t.mill.schedule('s', { every: '10m', kind: report, input: { of: 'new' }, queue: 'other' })
  await startStranger(t.mill)
  t.clock.advance(10 * MINUTE)
  await until(async () => (await boundariesOf(t.mill, 's')).length === 1)
  const { items } = await t.mill.jobs.list({ schedule: 's' }).page()
  expect(items).toMatchObject([{ input: { of: 'new' }, queue: 'other' }])
})

test('replays 21: a schedule of a week fires in its week, though its process starts again every ten minutes', async () => {
  await using t = await manualSetup()
  const weekly = { cron: '0 13 * * SUN', kind: sweep }
  for (let start = 0; start < 7; start += 1) {
    const worker = await startStranger(t.mill)
    await t.mill.schedule('weekly', weekly)
    t.clock.advance(10 * MINUTE)
    await worker.stop()
  }
  await startStranger(t.mill)
  await until(async () => (await boundariesOf(t.mill, 'weekly')).length === 1)
  expect(await boundariesOf(t.mill, 'weekly')).toEqual([NOON + 60 * MINUTE])
  expect(await nextOf(t.mill, 'weekly')).toBe(NOON + 60 * MINUTE + 7 * DAY)
})

test('S4: the options of the kind, and of its queue, are stamped when it is registered', async () => {
  await using t = await manualSetup()
  await t.mill.queues.set('slow', { retry: { failures: 2 } })
  const sized = defineJob('sized', {
    input: z.object({ size: z.number().default(3) }),
    queue: 'slow',
    priority: ({ size }) => (size > 2 ? 'low' : 'high'),
    lease: '5m',
    expires: '1h',
    keep: { completed: '1h' },
  })
  await t.mill.schedule('s', { every: '1h', kind: sized, input: {} })
  await startStranger(t.mill)
  t.clock.advance(60 * MINUTE)
  await until(async () => (await boundariesOf(t.mill, 's')).length === 1)
  const { items } = await t.mill.jobs.list({ schedule: 's' }).page()
  expect(items).toMatchObject([
    {
      input: {},
      priority: 8,
      queue: 'slow',
      failureLimit: 2,
      expiresAt: new Date(NOON + 120 * MINUTE),
    },
  ])
  const [claimed] = await t.mill.claim({ kinds: [sized], queues: ['slow'] })
  expect(claimed?.leaseEndsAt).toEqual(new Date(NOON + 65 * MINUTE))
})

const odd = JSON.parse('{"kind":1}')

test.each<readonly [what: string, options: object, message: string]>([
  ['cron and every', { cron: '0 0 * * *', every: '1h' }, 'there is a `cron` too'],
  ['neither', {}, 'give `cron`'],
  ['a cron that never fires', { cron: '0 0 31 2 *' }, 'it would never fire'],
  ['a cron of 10 kB', { cron: `${'0,'.repeat(5_000)}0 * * * *` }, 'longer than 1000 characters'],
  ['a cron for each second', { cron: '* * * * * *' }, "write every: '1s'"],
  ['the same in other words', { cron: '*/1 0-59 0-23 * 1-12 0-6' }, "write every: '1s'"],
  ['too few fields', { cron: '0 0 * *' }, 'it has 4 fields'],
  ['a year', { cron: '0 0 0 1 1 * 2030' }, 'it has 7 fields'],
  ['a nickname', { cron: '@daily' }, 'it has 1 fields'],
  ['an instant', { cron: '2030-01-01T00:00:00' }, 'it has 1 fields'],
  ['no text', { cron: 5 }, 'a pattern is text'],
  ['a minute that is not', { cron: '61 * * * *' }, 'Invalid value for minute: 61'],
  ['steps of nothing', { cron: '*/0 * * * *' }, 'illegal stepping'],
  ['words', { cron: 'every day at noon please' }, 'it cannot be read'],
  ['an unknown zone', { cron: '0 0 * * *', timezone: 'Mars/Base' }, 'IANA names'],
  ['an empty zone', { cron: '0 0 * * *', timezone: '' }, 'IANA names'],
  ['a zone that is no text', { cron: '0 0 * * *', timezone: 1 }, 'IANA names'],
  ['a zone for every', { every: '1h', timezone: 'UTC' }, 'goes with `cron`'],
  ['every nothing', { every: 0 }, 'longer than nothing'],
  ['every less than nothing', { every: -5 }, 'cannot be negative'],
  ['every moment', { every: 5 }, 'more often than each 100 ms'],
  ['every for ever', { every: Number.POSITIVE_INFINITY }, 'at most 36525 days'],
  ['an odd catchUp', { every: '1h', catchUp: 'all' }, "give 'skip', 'last'"],
  ['catchUp of none', { every: '1h', catchUp: { all: 0 } }, 'from 1 to 1000'],
  ['catchUp of less', { every: '1h', catchUp: { all: -1 } }, 'from 1 to 1000'],
  ['catchUp of parts', { every: '1h', catchUp: { all: 1.5 } }, 'from 1 to 1000'],
  ['catchUp of everything', { every: '1h', catchUp: { all: 1e9 } }, 'from 1 to 1000'],
  ['a slip in catchUp', { every: '1h', catchUp: { al: 2 } }, 'Did you mean all?'],
  ['an odd overlap', { every: '1h', overlap: 'queue' }, "give 'allow' or 'skip'"],
  ['an option that is none', { every: '1h', catchup: 'last' }, 'Did you mean catchUp?'],
  ['a delay', { every: '1h', delay: '1m' }, 'no such option'],
  ['no kind', { every: '1h', kind: 'sweep' }, 'not a kind of job'],
  ['an odd kind', { every: '1h', ...odd }, 'not a kind of job'],
  ['an instant to expire at', { every: '1h', expires: new Date(0) }, 'end all later jobs'],
  ['a bad option of the job', { every: '1h', priority: 11 }, 'priority'],
])('S1: %s is refused before any I/O', async (_what, options, message) => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const began = performance.now()
  // @ts-expect-error: most of these do not compile
  await expect(t.mill.schedule('s', { kind: sweep, ...options })).rejects.toThrow(message)
  // Nothing is searched for long: the longest is the date that does not exist.
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(statements.names).toEqual([])
})

test('S1: an input that its kind refuses is refused when it is registered', async () => {
  await using t = await setup()
  const strict = defineJob('strict', { input: z.object({ n: z.number() }) })
  const bad: { n: number } = JSON.parse('{"n":"1"}')
  const refused = t.mill.schedule('s', { every: '1h', kind: strict, input: bad })
  await expect(refused).rejects.toThrow(InvalidInputError)
  expect(await t.mill.schedules.list()).toEqual([])
})

test.each(['', ' ', 'a\0b', 'millrace.own', 'x'.repeat(201)])(
  'S4: %j is no name of a schedule',
  async (name) => {
    await using t = await setup()
    const refused = t.mill.schedule(name, { every: '1h', kind: sweep })
    await expect(refused).rejects.toThrow(InvalidNameError)
    for (const verb of ['next', 'pause', 'resume', 'remove', 'runNow'] as const) {
      await expect(t.mill.schedules[verb](name)).rejects.toThrow('cannot be a schedule')
    }
  },
)

test('S1: names that differ in case or white space are different schedules', async () => {
  await using t = await setup()
  for (const name of ['night', 'Night', 'night ', 'nîght']) {
    await t.mill.schedule(name, { every: '1h', kind: sweep })
  }
  expect((await t.mill.schedules.list()).map(({ name }) => name)).toEqual([
    'Night',
    'night',
    'night ',
    'nîght',
  ])
})

test('races 31: twenty clients register one schedule at once: there is one, and all have it', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const records = await Promise.all(
    Array.from({ length: 20 }, (_, each) =>
      (each % 2 === 0 ? t : other).mill.schedule('s', { cron: '0 0 1 1 *', kind: sweep }),
    ),
  )
  expect(new Set(records.map((record) => JSON.stringify(record))).size).toBe(1)
  expect((await t.sql.query('select revision from schedules')).rows).toEqual([{ revision: 1 }])
})
