import { expect, test } from 'vitest'
import { InvalidNameError, InvalidOptionError, LockLostError } from '../../src/index.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

test('K1: one of two has the lock, the other gets null, until it is released', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const first = await t.mill.tryLock('a b', { ttl: '30s' })
  expect(first).toMatchObject({ name: 'a b', token: expect.any(Number) })
  expect(await other.mill.tryLock('a b', { ttl: '30s' })).toBeNull()
  expect(await t.mill.tryLock('a b', { ttl: '30s' })).toBeNull()
  expect(await first?.release()).toBe(true)
  expect(await first?.release()).toBe(true)
  const second = await other.mill.tryLock('a b', { ttl: '30s' })
  expect(second?.token).toBeGreaterThan(first?.token ?? Infinity)
  expect(first?.signal.aborted).toBe(false)
})

test('K1: tokens grow with every acquisition, within one millisecond and over a clock that stands still', async () => {
  await using t = await manualSetup()
  const tokens: number[] = []
  for (let round = 0; round < 20; round += 1) {
    await using lock = await t.mill.tryLock('counter', { ttl: 1_000 })
    tokens.push(lock?.token ?? 0)
  }
  expect(tokens).toEqual(tokens.map((_token, index) => t.clock.now() * 1_000 + index))
  expect(tokens.every((token) => Number.isSafeInteger(token))).toBe(true)
})

test('K1: of fifty that try at once one has it', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const tries = Array.from({ length: 50 }, (_, index) =>
    (index % 2 === 0 ? t : other).mill.tryLock('hot', { ttl: '30s' }),
  )
  const got = (await Promise.all(tries)).filter((lock) => lock !== null)
  expect(got).toHaveLength(1)
})

test('K2: a lock is renewed at a third of its ttl, and is held for as long as it is not released', async () => {
  await using t = await manualSetup()
  const lock = await t.mill.tryLock('long', { ttl: '30s' })
  const start = t.clock.now()
  expect(lock?.expiresAt.getTime()).toBe(start + 30_000)
  for (let third = 1; third <= 9; third += 1) {
    t.clock.advance(10_000)
    await until(() => lock?.expiresAt.getTime() === start + third * 10_000 + 30_000)
  }
  expect(lock?.signal.aborted).toBe(false)
  expect(await lock?.release()).toBe(true)
  expect(t.clock.timers).toBe(0)
})

test('K2: the locks of a client are renewed in one statement', async () => {
  await using t = await manualSetup()
  const { watchStatements } = await import('../support/statements.ts')
  const locks = await Promise.all(
    Array.from({ length: 40 }, (_, index) => t.mill.tryLock(`lock ${index}`, { ttl: '30s' })),
  )
  using statements = watchStatements(t.schema)
  const start = t.clock.now()
  t.clock.advance(10_000)
  await until(() => locks.every((lock) => lock?.expiresAt.getTime() === start + 40_000))
  expect(statements.count('renew_locks')).toBe(1)
  expect(statements.count('held_locks')).toBe(0)
})

test('K2: a lock that is not renewed is lost at its end, though nobody took it', async () => {
  await using t = await manualSetup()
  const lock = await t.mill.tryLock('short', { ttl: '30s', renew: false })
  if (lock === null) throw new Error('it is free')
  t.clock.advance(29_999)
  expect(lock.signal.aborted).toBe(false)
  t.clock.advance(1)
  expect(lock.signal.aborted).toBe(true)
  expect(lock.signal.reason).toBeInstanceOf(LockLostError)
  expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', lock: 'short', token: lock.token })
  expect(await lock.renew()).toBe(false)
  expect(await lock.release()).toBe(false)
  const next = await t.mill.tryLock('short', { ttl: '30s' })
  expect(next?.token).toBeGreaterThan(lock.token)
})

test('K2: renewals that cannot be written end in a lock that is told so before others may have it', async () => {
  await using t = await manualSetup()
  const lock = await t.mill.tryLock('stuck', { ttl: '30s' })
  const holder = await t.session()
  await holder.query('begin')
  await holder.query('select 1 from locks for update')
  for (let second = 0; second < 30; second += 1) {
    expect(lock?.signal.aborted).toBe(false)
    t.clock.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(lock?.signal.aborted).toBe(true)
  await holder.query('rollback')
  expect(await lock?.release()).toBe(false)
})

test('K2: a renewal by hand moves the end, never to an earlier instant, and its ttl holds from then on', async () => {
  await using t = await manualSetup()
  const lock = await t.mill.tryLock('by hand', { ttl: '30s', renew: false })
  if (lock === null) throw new Error('it is free')
  const start = t.clock.now()
  t.clock.advance(5_000)
  expect(await lock.renew('1m')).toBe(true)
  expect(lock.expiresAt.getTime()).toBe(start + 65_000)
  expect(await lock.renew('1s')).toBe(true)
  expect(lock.expiresAt.getTime()).toBe(start + 65_000)
  await expect(lock.renew(0)).rejects.toThrow('longer than nothing')
  t.clock.advance(60_000)
  expect(lock.signal.aborted).toBe(true)
})

test('K2: a lock whose row somebody else wrote is lost with its next renewal', async () => {
  await using t = await manualSetup()
  const lock = await t.mill.tryLock('taken', { ttl: '30s' })
  await t.sql.query(`update locks set holder = 'somebody else'`)
  t.clock.advance(10_000)
  await until(() => lock?.signal.aborted)
  expect(await lock?.renew()).toBe(false)
})

test('K1: a released lock keeps its row for a day, so that its token goes on', async () => {
  await using t = await manualSetup()
  const first = await t.mill.tryLock('kept', { ttl: '1s' })
  await first?.release()
  await t.sql.query('update locks set token = token + 5000000000000')
  const second = await t.mill.tryLock('kept', { ttl: '1s' })
  expect(second?.token).toBe((first?.token ?? 0) + 5_000_000_000_001)
})

test.each<readonly [options: object, text: string]>([
  [{ ttl: 0 }, 'longer than nothing'],
  [{ ttl: -1 }, 'cannot be negative'],
  [{ ttl: Number.NaN }, 'a duration is'],
  [{ ttl: '30' }, 'a duration is'],
  [{ ttl: 1.5 }, 'milliseconds are whole'],
  [{ ttl: Infinity }, 'days fit'],
  [{}, 'a duration is'],
  [{ ttl: '1s', renew: 'no' }, 'give true or false'],
  [{ ttl: '1s', wait: '1s' }, 'no such option'],
  [{ ttl: '1s', renews: true }, 'Did you mean renew?'],
])('K1: %j are no options of a lock', async (options, text) => {
  await using t = await setup()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- wrong on purpose
  const tried = t.mill.tryLock('x', options as { ttl: number })
  await expect(tried).rejects.toThrow(InvalidOptionError)
  await expect(tried).rejects.toThrow(text)
})

test.each(['', ' ', 'a\0b', '\ud800', 'millrace.own', 'x'.repeat(201), 'ü'.repeat(101)])(
  'K1: %j is no name of a lock',
  async (name) => {
    await using t = await setup()
    await expect(t.mill.tryLock(name, { ttl: '1s' })).rejects.toThrow(InvalidNameError)
    await expect(t.mill.lock(name, { ttl: '1s' })).rejects.toThrow('cannot be a lock')
    await expect(t.mill.locks.release(name)).rejects.toThrow('cannot be a lock')
  },
)

test('K1: names that differ in case or trailing space are different locks', async () => {
  await using t = await setup()
  const names = ['a', 'A', 'a ', 'ä', 'x'.repeat(200)]
  const locks = await Promise.all(names.map((name) => t.mill.tryLock(name, { ttl: '10s' })))
  expect(locks.map((lock) => lock?.name)).toEqual(names)
})
