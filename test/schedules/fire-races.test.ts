import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import { namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { defineJob, typed } from '../../src/index.ts'
import { beginFire, fireSchedules } from '../../src/schedules/fire-statements.ts'
import type { FireRow } from '../../src/schedules/fire-statements.ts'
import { dueFire } from '../../src/schedules/fire.ts'
import { getSchedule } from '../../src/schedules/statements.ts'
import { untilBlocked } from '../support/blocked.ts'
import { executorOn } from '../support/executor.ts'
import {
  assertOnePlace,
  databaseOfFile,
  manualSetup,
  NOON,
  places,
  setup,
} from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { boundariesOf, nextOf, startStranger } from './fired.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const sweep = defineJob('sweep')
const keyed = defineJob('keyed', { input: typed<{ n: number }>(), dedup: 'k' })

test('races 31: a fire that committed and whose answer was lost is not repeated', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await manualSetup({ database: proxy.url })
  await t.mill.schedule('s', { every: '1m', kind: sweep })
  await startStranger(t.mill)
  const lost = proxy.loseAnswer('on conflict (schedule, boundary)')
  t.clock.advance(MINUTE)
  await lost
  await until(async () => (await nextOf(t.mill, 's')) === NOON + 2 * MINUTE)
  await until(async () => {
    t.clock.advance(SECOND)
    return (await boundariesOf(t.mill, 's')).length === 2
  })
  expect(await boundariesOf(t.mill, 's')).toEqual([NOON + MINUTE, NOON + 2 * MINUTE])
})

test('races 31: a worker that dies between the move of the schedule and its ask leaves the boundary to others', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { every: '1m', kind: keyed, input: { n: 1 } })
  const asker = await t.session()
  await asker.query('begin')
  await t.mill.in(asker).enqueue(keyed, { n: 0 })
  await startStranger(t.mill)
  t.clock.advance(MINUTE)
  // The schedule is moved, in a transaction that waits for the ask of another.
  await untilBlocked(t.sql)
  await t.sql.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
  )
  expect(await nextOf(t.mill, 's')).toBe(NOON + MINUTE)
  await asker.query('rollback')
  await until(async () => {
    t.clock.advance(SECOND)
    return (await boundariesOf(t.mill, 's')).length === 1
  })
  expect(await boundariesOf(t.mill, 's')).toEqual([NOON + MINUTE])
  await assertOnePlace(t.sql, t.schema)
})

test.each([
  ['plain', sweep, undefined],
  ['keyed', keyed, { n: 1 }],
] as const)(
  'races 31: a schedule that was removed and added again by a clock that is behind fires no boundary twice (%s)',
  async (_what, kind, input) => {
    await using t = await manualSetup()
    await using behind = await manualSetup({ schema: t.schema })
    const spec = { cron: '* * * * *', kind, ...(input === undefined ? {} : { input }) }
    await t.mill.enqueue(keyed, { n: 0 })
    await t.mill.schedule('s', spec)
    await startStranger(t.mill)
    t.clock.advance(MINUTE)
    await until(async () => (await nextOf(t.mill, 's')) === NOON + 2 * MINUTE)
    behind.clock.advance(MINUTE - 5 * SECOND)
    await behind.mill.schedules.remove('s')
    await behind.mill.schedule('s', spec)
    await until(async () => {
      t.clock.advance(10)
      return (await nextOf(t.mill, 's')) === NOON + 2 * MINUTE
    })
    const { rows } = await t.sql.query(
      `select boundary from jobs where schedule = 's'
       union all select boundary from journal where schedule = 's'`,
    )
    expect(rows).toEqual([{ boundary: new Date(NOON + MINUTE) }])
  },
)

test('races 31: a fire that meets a pause which is not committed yet leaves the schedule to it, and fires the others', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { every: '1m', kind: sweep })
  await t.mill.schedule('beside', { every: '1m', kind: sweep })
  await startStranger(t.mill)
  const holder = await t.session()
  await holder.query(
    `begin; update schedules set paused_at = now(), revision = 9 where schedule = 's'`,
  )
  t.clock.advance(MINUTE)
  await until(async () => (await boundariesOf(t.mill, 'beside')).length === 1)
  await holder.query('commit')
  await until(async () => {
    t.clock.advance(100)
    return (await nextOf(t.mill, 'beside')) === NOON + 2 * MINUTE
  })
  // In steps: a fire that is just over may count its wait from before or after one long step.
  await until(async () => {
    t.clock.advance(10 * SECOND)
    return (await boundariesOf(t.mill, 'beside')).length >= 2
  })
  expect(await boundariesOf(t.mill, 's')).toEqual([])
})

test.each([
  ['another pattern with the same next fire', `cron = '1 * * * *', revision = revision + 1`],
  ['a pause', `paused_at = now()`],
  ['a fire', `next_fire_at = next_fire_at + interval '1 minute'`],
])(
  'races 31: after a look, %s makes the fire miss: nothing is moved, nothing enqueued',
  async (_what, change) => {
    await using t = await manualSetup()
    await t.mill.schedule('s', { cron: '* * * * *', kind: sweep })
    await using executor = await executorOn(t, manualClock(NOON + MINUTE))
    const lane = executor.lane('maintenance')
    const fire = await decidedFire(lane)
    await t.sql.query(`update schedules set ${change}`)
    const before = (await t.sql.query('select xmin::text from schedules')).rows
    const params = { fires: JSON.stringify([fire]), hint_until: '-infinity' }
    expect(await lane.run(fireSchedules, params)).toEqual([])
    expect(await lane.run(beginFire, params)).toEqual([])
    expect((await t.sql.query('select xmin::text from schedules')).rows).toEqual(before)
    expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0, ready: 0 })
  },
)

test('races 31: of two fires, one with a snapshot from before the other, the second misses', async () => {
  await using t = await manualSetup()
  const place = namespace(t.schema)
  await t.mill.schedule('s', { cron: '* * * * *', kind: sweep })
  await using executor = await executorOn(t, manualClock(NOON + MINUTE))
  const lane = executor.lane('maintenance')
  const [first, second] = [await decidedFire(lane), await decidedFire(lane)]
  const late = { fires: JSON.stringify([second]), hint_until: '-infinity' }
  const { text, values } = bind(fireSchedules, { ...late, now: '2025-06-15T12:01:00Z' }, place)
  // Its snapshot taken, it waits at a gate before it looks for the row.
  const gated = text.replace('select *', 'select f.*, pg_advisory_xact_lock_shared(31)')
  const gate = await t.session()
  await gate.query('select pg_advisory_lock(31)')
  const firing = await t.session()
  const missed = firing.query(gated, [...values])
  await untilBlocked(t.sql)
  const early = { fires: JSON.stringify([first]), hint_until: '-infinity' }
  expect(await lane.run(fireSchedules, early)).toHaveLength(1)
  await gate.query('select pg_advisory_unlock(31)')
  expect((await missed).rows).toEqual([])
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 1, ready: 1 })
  expect(await nextOf(t.mill, 's')).toBe(NOON + 2 * MINUTE)
})

test('races 31: resumed after a month nothing is stuck, and nothing floods', async () => {
  await using t = await manualSetup()
  await t.mill.schedule('s', { cron: '*/5 * * * * *', kind: sweep, catchUp: { all: 3 } })
  await t.mill.schedules.pause('s')
  t.clock.advance(30 * 86_400_000)
  await startStranger(t.mill)
  const began = performance.now()
  await t.mill.schedules.resume('s')
  t.clock.advance(5 * SECOND)
  await until(async () => (await boundariesOf(t.mill, 's')).length === 1)
  expect(performance.now() - began).toBeLessThan(5_000)
  expect((await places(t.sql, t.schema)).jobs).toBe(1)
})

test('S2: two sessions that fire one schedule at once: one does, the other misses', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const workers = [t, other].map(({ mill }) => startStranger(mill))
  await Promise.all(workers)
  await t.mill.schedule('s', { every: '100ms', kind: sweep })
  await until(async () => (await boundariesOf(t.mill, 's')).length >= 20)
  await t.mill.schedules.pause('s')
  const fired = await boundariesOf(t.mill, 's')
  expect(new Set(fired).size).toBe(fired.length)
  await assertOnePlace(t.sql, t.schema)
})

/** What a worker decides at one minute past noon. */
async function decidedFire(lane: Lane): Promise<FireRow> {
  const [row] = await lane.run(getSchedule, { schedule: 's' })
  if (row === undefined) throw new Error('the schedule is not there')
  return dueFire(row, NOON + MINUTE)
}
