import { expect, test } from 'vitest'
import { lockerProcess } from '../support/locker-process.ts'
import { setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

test('K1, K2, race 32: a holder stopped past its ttl finds its lock lost and its token lower', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await using first = await lockerProcess({ ...bench, name: 'one', ttl: 1_500 })
  first.say('lock')
  const { token } = await first.told('held')
  first.signal('SIGSTOP')

  const second = await mill.lock('one', { ttl: '30s', wait: '1m' })
  expect(second.token).toBeGreaterThan(token ?? Infinity)
  first.signal('SIGCONT')
  first.say('renew')
  first.say('release')

  expect(await first.told('lost')).toEqual({ what: 'lost', code: 'LOCK_LOST' })
  expect(await first.told('renewed')).toEqual({ what: 'renewed', applied: false })
  expect(await first.told('released')).toEqual({ what: 'released', applied: false })
  const { rows } = await sql.query<{ token: string }>('select token from locks')
  expect(rows).toEqual([{ token: String(second.token) }])
  expect(second.signal.aborted).toBe(false)
  expect(await second.release()).toBe(true)
}, 120_000)

test('K1: killed waiters do not block those behind them, and a killed holder only for its ttl', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await using holder = await lockerProcess({ ...bench, name: 'one', ttl: 3_000 })
  await using dead = await lockerProcess({ ...bench, name: 'one', ttl: 30_000 })
  holder.say('lock')
  await holder.told('held')
  dead.say('lock')
  const waiting = async () => (await sql.query('select 1 from lock_waiters')).rows.length
  await until(async () => (await waiting()) === 1)
  const waited = mill.lock('one', { ttl: '30s', wait: '30s' })
  await until(async () => (await waiting()) === 2)
  dead.signal('SIGKILL')
  holder.signal('SIGKILL')
  const began = performance.now()
  const lock = await waited
  // The ttl, half a second for the dead one before it, and what a busy machine adds.
  expect(performance.now() - began).toBeLessThan(3_000 + 500 + 3_000)
  expect(await lock.release()).toBe(true)
}, 120_000)
