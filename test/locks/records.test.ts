import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { defineJob, open } from '../../src/index.ts'
import { forgetLocks } from '../../src/locks/prune-locks.ts'
import { executorOn } from '../support/executor.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { notices } from '../support/notices.ts'
import { startPglite } from '../support/pglite.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000

test('K1: locks.list() shows who holds what, until when, and how many wait', async () => {
  await using t = await manualSetup()
  const a = await t.mill.tryLock('a', { ttl: '1m' })
  await t.mill.tryLock('b', { ttl: '2m' })
  const gone = await t.mill.tryLock('gone', { ttl: '2m' })
  await gone?.release()
  await t.mill.tryLock('over', { ttl: 1, renew: false })
  t.clock.advance(1)
  const waited = t.mill.lock('a', { ttl: '1m' }).catch(() => null)
  await until(async () => (await t.mill.locks.list())[0]?.waiting === 1)
  const listed = await t.mill.locks.list()
  expect(listed.map(({ name, waiting }) => [name, waiting])).toEqual([
    ['a', 1],
    ['b', 0],
  ])
  expect(listed[0]).toMatchObject({
    owner: expect.stringMatching(new RegExp(`:${process.pid}$`)),
    token: a?.token,
    acquiredAt: new Date(t.clock.now() - 1),
    expiresAt: a?.expiresAt,
  })
  expect((await t.mill.locks.list({ after: 'a' })).map(({ name }) => name)).toEqual(['b'])
  expect(await t.mill.locks.list({ limit: 1 })).toHaveLength(1)
  expect(await t.mill.locks.list({ limit: 0 })).toEqual([])
  await expect(t.mill.locks.list({ limit: 1_001 })).rejects.toThrow('up to 1000')
  await expect(t.mill.locks.list({ limit: 0.5 })).rejects.toThrow('whole number')
  await t.mill.close()
  await waited
})

test('K2: a lock taken by hand goes to who waits, and its holder hears of it at once where it listens', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  using told = notices(t.schema)
  const held = await t.mill.tryLock('x', { ttl: '10m', renew: false })
  // The holder's client listens because it waits for another.
  await other.mill.tryLock('y', { ttl: '10m' })
  const stop = new AbortController()
  const listening = t.mill.lock('y', { ttl: '1m', signal: stop.signal }).catch(() => null)
  const waited = other.mill.lock('x', { ttl: '10m' })
  await until(async () => (await t.sql.query('select 1 from lock_waiters')).rows.length === 2)
  await until(async () => (await listeners(t.sql)) === 2)
  expect(await other.mill.locks.release('x')).toBe(true)
  expect((await waited).token).toBeGreaterThan(held?.token ?? Infinity)
  await until(() => held?.signal.aborted)
  expect(held?.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
  expect(told.messages).toEqual(['a lock was lost'])
  expect(told.facts).toEqual([{ lock: 'x', token: held?.token }])
  expect(await other.mill.locks.release('nothing')).toBe(false)
  stop.abort()
  await listening
})

test('K1: locks free for a day and places nobody came back to are removed, others are not', async () => {
  await using t = await manualSetup()
  await using executor = await executorOn(t, t.clock)
  const lane = executor.lane('maintenance')
  const old = await t.mill.tryLock('old', { ttl: '1s' })
  await old?.release()
  await t.sql.query('insert into lock_waiters values ($1, $2, $3)', [
    'old',
    'dead',
    new Date(t.clock.now()),
  ])
  t.clock.advance(DAY)
  await t.mill.tryLock('held', { ttl: '1h' })
  const names = async () => (await t.sql.query('select name from locks order by 1')).rows
  expect(await forgetLocks(lane, 10)).toBe(0)
  expect(await names()).toEqual([{ name: 'held' }, { name: 'old' }])
  t.clock.advance(1)
  expect(await forgetLocks(lane, 10)).toBe(1)
  expect(await names()).toEqual([{ name: 'held' }])
  expect((await t.sql.query('select 1 from lock_waiters')).rows).toEqual([])
  const again = await t.mill.tryLock('old', { ttl: '1s' })
  expect(again?.token).toBeGreaterThan(old?.token ?? Infinity)
})

test('K1: a worker keeps the house of the locks', async () => {
  await using t = await manualSetup()
  const lock = await t.mill.tryLock('old', { ttl: '1s' })
  await lock?.release()
  t.clock.advance(DAY + 1)
  const worker = t.mill.worker().handle(defineJob('nothing'), () => undefined)
  await worker.start()
  await until(async () => (await t.sql.query('select 1 from locks')).rows.length === 0)
})

test('G4: a lock of one namespace is no lock of another', async () => {
  await using t = await setup()
  await using prefixed = await setup({ schema: t.schema, prefix: 'a_' })
  await using other = await setup()
  for (const { mill } of [t, prefixed, other]) {
    expect(await mill.tryLock('x', { ttl: '10s' })).not.toBeNull()
  }
})

test('K1, K2: the same on an embedded database', { timeout: 60_000 }, async () => {
  const database = await startPglite()
  const mill = await open(database, { migrate: 'auto', logger: false })
  const first = await mill.tryLock('x', { ttl: 900 })
  expect(await mill.tryLock('x', { ttl: 900 })).toBeNull()
  const order: number[] = []
  const waits = [1, 2, 3].map((each) =>
    mill.withLock('x', { ttl: '5s' }, () => void order.push(each)),
  )
  const end = first?.expiresAt.getTime() ?? 0
  await until(() => (first?.expiresAt.getTime() ?? 0) > end)
  await first?.release()
  await Promise.all(waits)
  expect(order).toEqual([1, 2, 3])
  const left = await mill.tryLock('left', { ttl: '1h' })
  await mill.close()
  expect(left?.signal.aborted).toBe(true)
  const { rows } = await database.query('select name from millrace.locks where holder is not null')
  expect(rows).toEqual([])
  await database.close()
})

/** Clients of this file's database that hear by now. */
async function listeners(sql: Client): Promise<number> {
  const { rows } = await sql.query(
    `select pid from pg_stat_activity
     where datname = current_database() and state = 'idle' and query like 'listen %'`,
  )
  return rows.length
}
