import { expect, test } from 'vitest'
import { ClosedError, InvalidOptionError, LockWaitError } from '../../src/index.ts'
import type { Lock, Mill } from '../../src/index.ts'
import { manualSetup, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

test('K1: who waits has the lock as soon as it is released, told by a wake-up and not by looking', async () => {
  await using t = await manualSetup()
  await using other = await manualSetup({ schema: t.schema })
  const held = await t.mill.tryLock('x', { ttl: '10m' })
  const waited = other.mill.lock('x', { ttl: '10m' })
  await until(async () => (await waitersOf(t)) === 1)
  using statements = watchStatements(t.schema)
  // Nothing moves the clocks from here on.
  await until(() => other.clock.timers > 0)
  await statements.quiet(500)
  const before = statements.count('take_lock')
  expect(before).toBeLessThanOrEqual(1)
  await held?.release()
  const got = await waited
  expect(got.token).toBeGreaterThan(held?.token ?? Infinity)
  expect(statements.count('take_lock') - before).toBeLessThanOrEqual(2)
  expect(await waitersOf(t)).toBe(0)
})

test('K1: who waits has the lock at the end of a holder that does not renew', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const held = await t.mill.tryLock('x', { ttl: 800, renew: false })
  const got = await other.mill.lock('x', { ttl: '10s' })
  expect(got.token).toBeGreaterThan(held?.token ?? Infinity)
  expect(held?.signal.aborted).toBe(true)
})

test.each(['listen', 'poll'] as const)(
  'K1: ten waiters in five clients all have it, one at a time (%s)',
  async (wake) => {
    await using those = await clients(5, wake)
    const order: number[] = []
    let inside = 0
    let most = 0
    const first = await those.mills[0]?.tryLock('fair', { ttl: '10s' })
    const waits: Promise<void>[] = []
    for (let index = 0; index < 10; index += 1) {
      const mill = those.mills[index % 5]
      if (mill === undefined) throw new Error('there are five')
      waits.push(
        mill.withLock('fair', { ttl: '10s' }, async () => {
          inside += 1
          most = Math.max(most, inside)
          await new Promise((resolve) => setImmediate(resolve))
          order.push(index)
          inside -= 1
        }),
      )
      await until(async () => (await waitersOf(those)) === index + 1)
    }
    await first?.release()
    await Promise.all(waits)
    expect(most).toBe(1)
    const all = Array.from({ length: 10 }, (_, index) => index)
    // Without a listener they find out by looking, and not in their order.
    const expected = wake === 'listen' ? order : order.toSorted((one, other) => one - other)
    expect(expected).toEqual(all)
    if (process.env['MEASURE'] === 'yes') process.stdout.write(`${wake}: ${order.join(' ')}\n`)
  },
)

test('K1: a newcomer does not overtake who waits, though the lock is free when he asks', async () => {
  await using t = await manualSetup()
  await using other = await manualSetup({ schema: t.schema })
  const held = await t.mill.tryLock('x', { ttl: '10m' })
  await leaveInLine(t, 'x', '00000000000000000000000001')
  await held?.release()
  expect(await other.mill.tryLock('x', { ttl: '10m' })).toBeNull()
  t.clock.advance(500)
  other.clock.advance(500)
  const got = await other.mill.tryLock('x', { ttl: '10m' })
  expect(got?.token).toBeGreaterThan(held?.token ?? Infinity)
})

test('K1: dead waiters before it cost half a second each, and nothing once they are five seconds old', async () => {
  await using t = await manualSetup()
  const held = await t.mill.tryLock('x', { ttl: '10m' })
  for (let dead = 1; dead <= 3; dead += 1)
    await leaveInLine(t, 'x', `0000000000000000000000000${dead}`)
  const waited = t.mill.lock('x', { ttl: '10m' })
  await until(async () => (await waitersOf(t)) === 4)
  let isThere = false
  void waited.then(() => (isThere = true))
  await held?.release()
  using statements = watchStatements(t.schema)
  await statements.quiet(300)
  t.clock.advance(1_499)
  await statements.quiet(300)
  expect(isThere).toBe(false)
  t.clock.advance(1)
  await (await waited).release()
  t.clock.advance(5_000)
  expect(await t.mill.tryLock('x', { ttl: '10m' })).not.toBeNull()
  expect(await waitersOf(t)).toBe(0)
})

test('K1: waits of one client for one lock share their looks', async () => {
  await using t = await manualSetup()
  await t.mill.tryLock('x', { ttl: '10m' })
  using statements = watchStatements(t.schema)
  const waits = Array.from({ length: 100 }, () =>
    t.mill.lock('x', { ttl: '10m' }).catch((error: unknown) => error),
  )
  await until(async () => (await waitersOf(t)) === 100)
  await statements.quiet(300)
  expect(statements.count('take_lock')).toBeLessThanOrEqual(4)
  await t.mill.close()
  expect((await Promise.all(waits)).every((each) => each instanceof ClosedError)).toBe(true)
  expect(t.clock.timers).toBe(0)
  expect(await waitersOf(t)).toBe(0)
})

test('K1: after `wait` the wait is an error that says who to ask, and its place is free', async () => {
  await using t = await manualSetup()
  await t.mill.tryLock('x', { ttl: '10m' })
  const waited = t.mill.lock('x', { ttl: '10m', wait: '30s' }).catch((error: unknown) => error)
  await until(async () => (await waitersOf(t)) === 1)
  t.clock.advance(30_000)
  const error = await waited
  expect(error).toBeInstanceOf(LockWaitError)
  expect(error).toMatchObject({ code: 'LOCK_WAIT', lock: 'x', waitMs: 30_000 })
  await until(async () => (await waitersOf(t)) === 0)
})

test('K1: its signal ends a wait with its reason; what was taken for it meanwhile is given back', async () => {
  await using t = await setup()
  const held = await t.mill.tryLock('x', { ttl: '10m' })
  const stop = new AbortController()
  const waited = t.mill.lock('x', { ttl: '10m', signal: stop.signal })
  const caught = waited.catch((error: unknown) => error)
  await until(async () => (await waitersOf(t)) === 1)
  stop.abort(new Error('enough'))
  expect(await caught).toMatchObject({ message: 'enough' })
  await held?.release()
  for (let round = 0; round < 20; round += 1) {
    const late = new AbortController()
    const free = t.mill.lock('x', { ttl: '10m', signal: late.signal }).catch(() => null)
    setTimeout(() => late.abort(), round / 4)
    const lock = await free
    await lock?.release()
    await until(async () => (await t.mill.locks.list()).length === 0)
  }
  await expect(t.mill.lock('x', { ttl: 1, signal: AbortSignal.abort() })).rejects.toThrow('abort')
})

test('K1: mill.close() ends waits, tells holders, and releases what they held', async () => {
  const t = await setup()
  await using other = await setup({ schema: t.schema })
  const held = await t.mill.tryLock('x', { ttl: '10m' })
  const waited = other.mill.lock('x', { ttl: '10m' })
  const behind = t.mill.lock('x', { ttl: '10m' }).catch((error: unknown) => error)
  await until(async () => (await waitersOf(other)) === 2)
  await t.close()
  expect(held?.signal.reason).toMatchObject({ code: 'LOCK_LOST', cause: { code: 'CLOSED' } })
  expect(await behind).toBeInstanceOf(ClosedError)
  expect((await waited).name).toBe('x')
  expect(await held?.release()).toBe(false)
  await expect(t.mill.tryLock('x', { ttl: '1s' })).rejects.toThrow(ClosedError)
  await expect(t.mill.lock('x', { ttl: '1s' })).rejects.toThrow(ClosedError)
})

test('K1: a release that is under way when its client closes is written', async () => {
  const t = await setup()
  await using other = await setup({ schema: t.schema })
  const lock = await t.mill.tryLock('x', { ttl: '10m' })
  const released = lock?.release()
  await t.close()
  expect(await released).toBe(true)
  expect(await other.mill.locks.list()).toEqual([])
})

test('K1: withLock releases whatever its function does, and gives what it gave', async () => {
  await using t = await setup()
  expect(await t.mill.withLock('x', { ttl: '10s' }, (lock) => `has ${lock.name}`)).toBe('has x')
  const failing = t.mill.withLock('x', { ttl: '10s' }, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(await t.mill.tryLock('x', { ttl: '10s' })).not.toBeNull()
})

test('K2: withLock rejects when its function went on past the loss of the lock', async () => {
  await using t = await manualSetup()
  const late = t.mill.withLock('x', { ttl: '10s', renew: false }, async () => {
    t.clock.advance(10_000)
    return 'done'
  })
  await expect(late).rejects.toThrow('lock "x" with token')
})

test.each<readonly [options: object, text: string]>([
  [{ ttl: '1s', wait: 0 }, 'longer than nothing'],
  [{ ttl: '1s', wait: -5 }, 'cannot be negative'],
  [{ ttl: '1s', wait: 'soon' }, 'a duration is'],
  [{ ttl: 0, wait: '1s' }, 'longer than nothing'],
  [{ ttl: '1s', timeout: '1s' }, 'no such option'],
])('K1: %j are no options of a wait', async (options, text) => {
  await using t = await setup()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- wrong on purpose
  const wrong = options as { ttl: number }
  await expect(t.mill.lock('x', wrong)).rejects.toThrow(InvalidOptionError)
  await expect(t.mill.withLock('x', wrong, () => 0)).rejects.toThrow(text)
})

interface Clients extends AsyncDisposable {
  readonly mills: readonly Mill[]
  readonly sql: Setup['sql']
}

async function clients(count: number, wake: 'listen' | 'poll'): Promise<Clients> {
  const first = await setup({ wake })
  const others = await Promise.all(
    Array.from({ length: count - 1 }, () => setup({ schema: first.schema, wake })),
  )
  return {
    mills: [first, ...others].map(({ mill }) => mill),
    sql: first.sql,
    async [Symbol.asyncDispose]() {
      await Promise.all([first, ...others].map((each) => each.close()))
    },
  }
}

async function waitersOf({ sql }: Pick<Setup, 'sql'>): Promise<number> {
  return (await sql.query<Lock>('select 1 from lock_waiters')).rows.length
}

/** A place that nobody comes back to, as a killed process leaves it. */
async function leaveInLine(
  { sql, clock }: Awaited<ReturnType<typeof manualSetup>>,
  ...row: string[]
) {
  await sql.query('insert into lock_waiters (name, holder, seen_at) values ($1, $2, $3)', [
    ...row,
    new Date(clock.now()),
  ])
}
