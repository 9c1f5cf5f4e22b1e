import { expect, test } from 'vitest'
import { LockLostError } from '../../src/index.ts'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import { doubtsOf } from '../../src/locks/doubts.ts'
import { locking } from '../../src/locks/locks.ts'
import { lockKeeper } from '../../src/locks/keeper.ts'
import { lockTable } from '../../src/locks/lock-table.ts'
import { silentWakeups } from '../../src/database/silent-wakeups.ts'
import { untilBlocked } from '../support/blocked.ts'
import { executorOn } from '../support/executor.ts'
import { manualSetup, NOON, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

test('K1, race 32: an acquisition whose answer was lost is asked again, and has the same token', async () => {
  await using t = await setup()
  await using proxy = await proxyTo(t.url)
  await using cut = await setup({ schema: t.schema, database: proxy.url })
  const lost = proxy.loseAnswer('insert into "')
  const lock = await cut.mill.tryLock('x', { ttl: '30s' })
  await lost
  expect(lock).not.toBeNull()
  const { rows } = await t.sql.query<{ token: string }>('select token::text as token from locks')
  expect(rows).toEqual([{ token: String(lock?.token) }])
  expect(await lock?.release()).toBe(true)
})

test('K1, race 32: the same for a wait', async () => {
  await using t = await setup()
  await using proxy = await proxyTo(t.url)
  await using cut = await setup({ schema: t.schema, database: proxy.url })
  const lost = proxy.loseAnswer('insert into "')
  const lock = await cut.mill.lock('x', { ttl: '30s' })
  await lost
  const [record] = await t.mill.locks.list()
  expect(record?.token).toBe(lock.token)
  expect(await lock.release()).toBe(true)
})

test('K1, race 32: one holder that asks again before its end has what it had, after it a new token', async () => {
  await using t = await setup()
  const clock = manualClock(NOON)
  await using executor = await executorOn(t, clock)
  const doubts = doubtsOf(clock, () => 0)
  const table = lockTable({ executor, doubts, errorMs: () => 0, announce: false })
  const ask = { name: 'x', holder: 'me', ttlMs: 1_000 }
  const first = await table.take(ask, [])
  clock.advance(500)
  const again = await table.take(ask, [])
  expect(again).toMatchObject({ token: first.token, expires_at: NOON + 1_500 })
  clock.advance(1_000)
  const late = await table.take(ask, [])
  expect(late.token).toBeGreaterThan(first.token ?? Infinity)
})

test('K2: a release whose answer was lost is asked again, and says that it was held', async () => {
  await using t = await setup()
  await using proxy = await proxyTo(t.url)
  await using cut = await setup({ schema: t.schema, database: proxy.url })
  const lock = await cut.mill.tryLock('x', { ttl: '30s' })
  const lost = proxy.loseAnswer('set holder = null')
  expect(await lock?.release()).toBe(true)
  await lost
  expect(await t.mill.locks.list()).toEqual([])
})

test('K1: two who meet over a lock that ended: the second sees what the first wrote, not its snapshot', async () => {
  await using t = await setup()
  const clock = manualClock(NOON)
  await using executor = await executorOn(t, clock)
  await using other = await executorOn(t, clock)
  const tableOn = (on: typeof executor) =>
    lockTable({ executor: on, doubts: doubtsOf(clock, () => 0), errorMs: () => 0, announce: false })
  await tableOn(executor).take({ name: 'x', holder: 'a', ttlMs: 1_000 }, [])
  clock.advance(1_000)
  const session = await t.session()
  await session.query('begin')
  await session.query('select 1 from locks for update')
  const second = tableOn(other).take({ name: 'x', holder: 'c', ttlMs: 1_000 }, [])
  await untilBlocked(t.sql)
  await session.query(
    `update locks set holder = 'b', token = token + 1, expires_at = expires_at + interval '1 hour'`,
  )
  await session.query('commit')
  expect(await second).toMatchObject({ token: null, held_until: NOON + 1_000 })
  const { rows } = await t.sql.query('select holder from locks')
  expect(rows).toEqual([{ holder: 'b' }])
})

test('K1: a renewal that meets the take of an ended lock is one or the other', async () => {
  await using t = await manualSetup()
  await using other = await manualSetup({ schema: t.schema })
  for (let round = 0; round < 20; round += 1) {
    // The clocks are apart, so that the lock has ended for one and not for the other.
    other.clock.advance(t.clock.now() + 100 - other.clock.now())
    const name = `lock ${round}`
    const lock = await t.mill.tryLock(name, { ttl: 1_000, renew: false })
    t.clock.advance(900)
    other.clock.advance(900)
    // A renewal that met the row while it was being taken looks again on its clock.
    const pump = setInterval(() => t.clock.advance(20), 200)
    const [renewed, taken] = await Promise.all([
      lock?.renew(),
      other.mill.tryLock(name, { ttl: 1_000, renew: false }),
    ])
    clearInterval(pump)
    expect(renewed).toBe(taken === null)
    expect(lock?.signal.aborted).toBe(taken !== null)
  }
})

test('K1: a lock that is pruned while it is taken is taken, with a greater token', async () => {
  await using t = await manualSetup()
  const first = await t.mill.tryLock('x', { ttl: 1_000 })
  await first?.release()
  t.clock.advance(2 * 86_400_000)
  const session = await t.session()
  await session.query('begin')
  await session.query('delete from locks')
  const taken = t.mill.tryLock('x', { ttl: 1_000 })
  await untilBlocked(t.sql)
  await session.query('commit')
  expect((await taken)?.token).toBeGreaterThan(first?.token ?? Infinity)
})

test('clock: after a doubt no lock is taken because it ended, for one renewal period of it', async () => {
  await using t = await setup()
  const clock = manualClock(NOON)
  await using executor = await executorOn(t, clock)
  let doubts = 0
  const made = locking({
    executor,
    wakeups: silentWakeups,
    wake: 'poll',
    doubts: () => doubts,
    errorMs: () => 0,
  })
  const { verbs } = made
  const ended = await verbs.tryLock('ended', { ttl: '30s', renew: false })
  const released = await verbs.tryLock('released', { ttl: '30s' })
  await released?.release()
  clock.advance(30_000)
  expect(ended?.signal.aborted).toBe(true)
  doubts += 1
  expect(await verbs.tryLock('ended', { ttl: '30s' })).toBeNull()
  // What was given up nobody will renew.
  expect(await verbs.tryLock('released', { ttl: '30s' })).not.toBeNull()
  clock.advance(9_999)
  expect(await verbs.tryLock('ended', { ttl: '30s' })).toBeNull()
  clock.advance(1)
  // In doubt again and again: it must not wait for ever.
  doubts += 1
  expect(await verbs.tryLock('ended', { ttl: '30s' })).not.toBeNull()
  await made.close()
})

test('clock: a lock is over for its holder earlier by what the clock may be off, and later for others', async () => {
  await using t = await setup()
  const clock = manualClock(NOON)
  await using executor = await executorOn(t, clock)
  const made = locking({
    executor,
    wakeups: silentWakeups,
    wake: 'poll',
    doubts: () => 0,
    errorMs: () => 19.5,
  })
  const lock = await made.verbs.tryLock('x', { ttl: 1_000, renew: false })
  clock.advance(979)
  expect(lock?.signal.aborted).toBe(false)
  clock.advance(1)
  expect(lock?.signal.reason).toBeInstanceOf(LockLostError)
  clock.advance(39)
  expect(await made.verbs.tryLock('x', { ttl: 1_000 })).toBeNull()
  clock.advance(1)
  expect(await made.verbs.tryLock('x', { ttl: 1_000 })).not.toBeNull()
  await made.close()
})

test('clock: after a sleep of the machine the clock is set before anything, and what ended meanwhile is lost', async () => {
  const clock = manualClock(NOON)
  let doubts = 0
  const told: string[] = []
  const lane: Lane = {
    async ready() {
      told.push('the clock is set')
      clock.advance(60_000)
    },
    run: () => Promise.reject(new Error('nothing is to be asked')),
    transaction: () => Promise.reject(new Error('not here')),
    close: () => Promise.resolve(),
  }
  const keeper = lockKeeper({
    clock,
    lane: () => lane,
    errorMs: () => 0,
    doubts: () => doubts,
    onRenewed: () => told.push('renewed'),
    onFailure: (error) => told.push(String(error)),
  })
  keeper.add({
    name: 'x',
    holder: 'me',
    renews: false,
    ttlMs: 30_000,
    endsAt: NOON + 30_000,
    renewAt: NOON + 10_000,
    lose: () => told.push('lost'),
  })
  doubts += 1
  await until(() => clock.timers === 2)
  clock.advance(1_000)
  await keeper.idle()
  expect(told).toEqual(['the clock is set', 'lost'])
  expect(clock.timers).toBe(0)
})
