import { afterEach, expect, test } from 'vitest'
import { manualClock, type ManualClock } from '../../src/core/manual-clock.ts'
import type { Engine, ListenHandlers, Listening, Session } from '../../src/database/database.ts'
import { nodePostgresEngine } from '../../src/database/drivers/node-postgres.ts'
import { pgliteEngine } from '../../src/database/drivers/pglite.ts'
import type { WakeHint } from '../../src/database/hint.ts'
import { PING_EVERY, type Wakeups, wakeups } from '../../src/database/wakeups.ts'
import { databaseUrl, freshDatabase } from '../support/database.ts'
import { startPglite } from '../support/pglite.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'

const CHANNEL = 'millrace_0123'
const HEARD: WakeHint = { type: 'resync' }

/** A database library whose connections the test makes and breaks. */
interface Library {
  readonly engine: Engine
  /** Listening connections asked for so far. */
  readonly attempts: number
  /** Those that are open. */
  readonly open: number
  refuse(error: Error | undefined): void
  /** Delivers nothing from now on, as a pooler does. */
  isDeaf: boolean
  isHalfOpen: boolean
  lose(): void
  notify(payload: string): void
}

const nothing = async () => {}
const MORE_CHANNELS = { add: nothing, remove: nothing }

function library(): Library {
  const live = new Set<ListenHandlers>()
  let attempts = 0
  let refusal: Error | undefined
  const notify = (payload: string) => {
    if (!self.isDeaf) for (const handlers of live) handlers.onNotification(payload)
  }
  const listening = (handlers: ListenHandlers): Listening => {
    const close = async () => void live.delete(handlers)
    return {
      close,
      [Symbol.asyncDispose]: close,
      ...MORE_CHANNELS,
      async ping() {
        if (!self.isHalfOpen) return
        live.delete(handlers)
        handlers.onLost(new Error('no answer'))
        throw new Error('no answer')
      },
    }
  }
  const prover: Session = {
    query: async () => {
      notify('proof')
      return []
    },
    execute: nothing,
    transaction: () => Promise.reject(new Error('not here')),
    isLost: false,
    giveUp: () => undefined,
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  }
  const engine: Engine = {
    driver: 'node-postgres',
    isSingleConnection: false,
    connect: async () => prover,
    listen: async (_channel, handlers) => {
      attempts += 1
      if (refusal !== undefined) throw refusal
      live.add(handlers)
      return listening(handlers)
    },
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  }
  const self: Library = {
    engine,
    get attempts() {
      return attempts
    },
    get open() {
      return live.size
    },
    refuse: (error) => {
      refusal = error
    },
    isDeaf: false,
    isHalfOpen: false,
    lose: () => {
      for (const handlers of Array.from(live)) {
        live.delete(handlers)
        handlers.onLost(new Error('lost'))
      }
    },
    notify,
  }
  return self
}

interface Bench {
  readonly clock: ManualClock
  readonly library: Library
  readonly wakeups: Wakeups
  readonly hints: WakeHint[]
}

const started: Wakeups[] = []

function setup(random = () => 0.5, configure: (library: Library) => void = () => {}): Bench {
  const clock = manualClock(0)
  const made = library()
  configure(made)
  const hints: WakeHint[] = []
  const each = wakeups(made.engine, CHANNEL, { clock, random })
  each.subscribe((hint) => hints.push(hint))
  started.push(each)
  return { clock, library: made, wakeups: each, hints }
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.close()))
})

test('hints reach every subscriber until it unsubscribes', async () => {
  const bench = setup()
  await until(() => bench.wakeups.isListening)
  const more: WakeHint[] = []
  const unsubscribe = bench.wakeups.subscribe((hint) => more.push(hint))
  bench.library.notify('due 5 mail')
  unsubscribe()
  bench.library.notify('due 6 post office')
  bench.library.notify('something newer')
  expect(more).toEqual([{ type: 'due', dueAt: 5, queue: 'mail' }])
  const later = { type: 'due', dueAt: 6, queue: 'post office' }
  expect(bench.hints).toEqual([HEARD, { type: 'due', dueAt: 5, queue: 'mail' }, later])
})

test('a lost connection is told at once, and comes back after the backoff, with a resync each', async () => {
  const { clock, library: made, wakeups: each, hints } = setup()
  await until(() => each.isListening)
  made.lose()
  await until(() => !each.isListening && clock.timers === 1)
  expect(each.problem).toMatchObject({ message: 'lost' })
  expect(made.attempts).toBe(1)
  expect(hints).toHaveLength(2)
  clock.advance(500)
  await until(() => each.isListening)
  expect(each.problem).toBeUndefined()
  expect(hints).toEqual([HEARD, HEARD, HEARD])
  expect(made.attempts).toBe(2)
})

test('the backoff doubles to a minute, times a chance, and never ends', async () => {
  const waits: number[] = []
  const {
    clock,
    library: made,
    wakeups: each,
  } = setup(
    () => 1,
    (refusing) => refusing.refuse(new Error('LISTEN is not supported')),
  )
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await until(() => made.attempts === attempt && clock.timers === 1)
    const from = clock.now()
    while (clock.timers === 1) clock.advance(250)
    waits.push(clock.now() - from)
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  expect(each.isListening).toBe(false)
  expect(each.problem).toMatchObject({ message: 'LISTEN is not supported' })
})

test('29: a connection on which nothing arrives never counts as listening', async () => {
  const {
    clock,
    library: made,
    wakeups: each,
    hints,
  } = setup(
    () => 0.5,
    (deaf) => {
      deaf.isDeaf = true
    },
  )
  await until(() => made.open === 1 && clock.timers === 1)
  clock.advance(5_000)
  await until(() => made.open === 0)
  expect(each.isListening).toBe(false)
  expect(each.problem).toMatchObject({ message: expect.stringContaining('found by polling') })
  expect(hints).toEqual([])
})

test('11: a half-open connection is found by its ping', async () => {
  const { clock, library: made, wakeups: each } = setup()
  await until(() => each.isListening && clock.timers === 1)
  clock.advance(PING_EVERY)
  await until(() => clock.timers === 1)
  expect(each.isListening).toBe(true)
  made.isHalfOpen = true
  clock.advance(PING_EVERY)
  await until(() => !each.isListening)
  expect(made.open).toBe(0)
})

test('one that flaps is backed off, one that lasted is not', async () => {
  const { clock, library: made, wakeups: each } = setup(() => 1)
  const backoffAfterLoss = async () => {
    await until(() => each.isListening && clock.timers === 1)
    made.lose()
    await until(() => !each.isListening && clock.timers === 1)
    const from = clock.now()
    while (clock.timers === 1) clock.advance(250)
    return clock.now() - from
  }
  expect(await backoffAfterLoss()).toBe(500)
  expect(await backoffAfterLoss()).toBe(1_000)
  await until(() => each.isListening && clock.timers === 1)
  clock.advance(PING_EVERY)
  await until(() => clock.timers === 1)
  expect(await backoffAfterLoss()).toBe(500)
})

test('close ends the connection and the timers at any moment, twice too', async () => {
  const waiting = setup()
  await until(() => waiting.wakeups.isListening && waiting.clock.timers === 1)
  const backingOff = setup(undefined, (refusing) => refusing.refuse(new Error('no')))
  await until(() => backingOff.clock.timers === 1)
  const starting = setup()
  for (const bench of [waiting, backingOff, starting]) {
    await Promise.all([bench.wakeups.close(), bench.wakeups.close()])
    expect(bench.clock.timers).toBe(0)
    expect(bench.library.open).toBe(0)
    expect(bench.wakeups.isListening).toBe(false)
  }
  const heard = waiting.hints.length
  waiting.library.notify('due 1 mail')
  expect(waiting.hints).toHaveLength(heard)
})

test('on a real server a hint of another session arrives, before and after its connection was ended', async () => {
  await using database = await freshDatabase()
  await using engine = nodePostgresEngine({ url: database.url })
  const clock = manualClock(0)
  await using each = wakeups(engine, CHANNEL, { clock, random: () => 0 })
  const hints: WakeHint[] = []
  each.subscribe((hint) => hints.push(hint))
  await until(() => each.isListening)
  const notify = (queue: string) => runSql(database.url, `notify ${CHANNEL}, 'due 7 ${queue}'`)
  await notify('first')
  await until(() => hints.length === 2)
  await runSql(
    database.url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'millrace listen' and datname = current_database()`,
  )
  await until(() => !each.isListening)
  clock.advance(1)
  await until(() => each.isListening)
  await notify('second')
  await until(() => hints.length === 5)
  expect(hints).toEqual([
    HEARD,
    { type: 'due', dueAt: 7, queue: 'first' },
    HEARD,
    HEARD,
    { type: 'due', dueAt: 7, queue: 'second' },
  ])
  const mine = `select from pg_stat_activity where application_name like 'millrace%' and datname = current_database()`
  expect(await runSql(database.url, mine)).toHaveLength(1)
  await each.close()
  await until(async () => (await runSql(database.url, mine)).length === 0)
})

test('a server that cannot be reached is a problem, not an error', async () => {
  await using engine = nodePostgresEngine({
    url: databaseUrl('postgres://postgres@127.0.0.1:1', 'x'),
  })
  await using each = wakeups(engine, CHANNEL, { clock: manualClock(0), random: () => 0.5 })
  await until(() => each.problem)
  expect(each.isListening).toBe(false)
  expect(each.problem).toMatchObject({ code: 'DATABASE', retryable: true })
})

test('on PGlite the one connection listens, too', { timeout: 120_000 }, async () => {
  await using instance = await startPglite()
  await using engine = pgliteEngine({ instance })
  await using each = wakeups(engine, CHANNEL, { clock: manualClock(0), random: () => 0 })
  const hints: WakeHint[] = []
  each.subscribe((hint) => hints.push(hint))
  await until(() => each.isListening)
  const session = await engine.connect({ purpose: 'test', timeoutMs: 5_000 })
  await session.execute(`notify ${CHANNEL}, 'due 7 mail'`)
  await until(() => hints.length === 2)
  expect(hints).toEqual([HEARD, { type: 'due', dueAt: 7, queue: 'mail' }])
})
