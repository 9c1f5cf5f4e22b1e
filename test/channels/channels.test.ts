import { expect, test } from 'vitest'
import {
  ClosedError,
  defineJob,
  InvalidNameError,
  InvalidOptionError,
  open,
  PayloadTooLargeError,
  typed,
} from '../../src/index.ts'
import type { ChannelMessage, Listener } from '../../src/index.ts'
import { channelName } from '../../src/channels/channel-name.ts'
import { namespace } from '../../src/database/namespace.ts'
import { setup } from '../support/mill.ts'
import { startPglite } from '../support/pglite.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const said = (payload: string): ChannelMessage => ({ type: 'message', payload })
const RESYNC: ChannelMessage = { type: 'resync' }

/** The next so many messages. */
async function next(listener: Listener, count: number): Promise<readonly ChannelMessage[]> {
  const heard: ChannelMessage[] = []
  for await (const message of listener) {
    heard.push(message)
    if (heard.length === count) break
  }
  return heard
}

test('N1: what one client says another hears, in order, exactly as it was said', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const listener = other.mill.listen('prices and more ü')
  await listener.ready()
  const payloads = [
    'one',
    '',
    '{"a":"ü👋"}',
    "it's $1 \\u0000",
    'x'.repeat(7_999),
    'ü'.repeat(3_999),
  ]
  for (const payload of payloads) await t.mill.notify('prices and more ü', payload)
  await t.mill.notify('prices and more ü')
  expect(await next(listener, 7)).toEqual([...payloads, ''].map(said))
})

test('N1: equal messages are as many as were said', async () => {
  await using t = await setup()
  const listener = t.mill.listen('a')
  await listener.ready()
  await Promise.all([1, 2, 3].map(() => t.mill.notify('a', 'same')))
  expect(await next(listener, 3)).toEqual([said('same'), said('same'), said('same')])
})

test('N1: in a transaction it is said with the commit, and never after a rollback', async () => {
  await using t = await setup()
  const listener = t.mill.listen('a')
  await listener.ready()
  await t.sql.query('begin')
  await t.mill.in(t.sql).notify('a', 'undone')
  await t.sql.query('rollback')
  await t.sql.query('begin')
  await t.mill.in(t.sql).notify('a', 'in it')
  await expect(t.mill.in(t.sql).notify('a', 'x'.repeat(8_000))).rejects.toThrow('8000 bytes')
  await t.mill.notify('a', 'beside it')
  await t.sql.query('commit')
  expect(await next(listener, 2)).toEqual([said('beside it'), said('in it')])
})

test('N1: in the transaction of a run it is said when the run is settled with it', async () => {
  await using t = await setup()
  const say = defineJob('say', { input: typed<boolean>(), retry: { failures: 1 } })
  const listener = t.mill.listen('a')
  await listener.ready()
  const worker = t.mill.worker().handle(say, (fails, run) =>
    run.transaction(async (tx) => {
      await tx.notify('a', fails ? 'undone' : 'done')
      if (fails) throw new Error('no')
    }),
  )
  await worker.start()
  for (const fails of [true, false]) {
    const { id } = await t.mill.enqueue(say, fails)
    await t.mill.jobs.wait(id)
  }
  expect(await next(listener, 1)).toEqual([said('done')])
})

test('N1: a payload is measured in bytes of UTF-8, and refused before anything is sent', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const tooLarge = t.mill.notify('a', 'ü'.repeat(4_000))
  await expect(tooLarge).rejects.toThrow(PayloadTooLargeError)
  await expect(tooLarge).rejects.toMatchObject({ bytes: 8_000, limit: 7_999 })
  await expect(t.mill.notify('a', 'a\0b')).rejects.toThrow('U+0000')
  await expect(t.mill.notify('a', '\ud83d')).rejects.toThrow(InvalidOptionError)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- wrong on purpose
  const wrong = { a: 1 } as unknown as string
  await expect(t.mill.notify('a', wrong)).rejects.toThrow('it is text')
  expect(statements.names).toEqual([])
})

test.each(['', ' ', 'a\0b', '\ud800', 'millrace.own', 'x'.repeat(201)])(
  'N1: %j is no name of a channel',
  async (name) => {
    await using t = await setup()
    await expect(t.mill.notify(name)).rejects.toThrow(InvalidNameError)
    expect(() => t.mill.listen(name)).toThrow('cannot be a channel')
  },
)

test('N1, G4: namespaces and channels never hear each other, nor do workers', async () => {
  await using t = await setup()
  await using prefixed = await setup({ schema: t.schema, prefix: 'a_' })
  const names = ['a', 'A', 'a ', 'b']
  const heard: string[] = []
  const listeners = [t, prefixed].flatMap(({ mill }, index) =>
    names.map((name) => {
      const listener = mill.listen(name)
      void (async () => {
        for await (const each of listener) {
          if (each.type === 'message') heard.push(`${index} ${name}| ${each.payload}`)
        }
      })()
      return listener
    }),
  )
  await Promise.all(listeners.map((each) => each.ready()))
  await t.mill.notify('a', 'one')
  await t.mill.notify('a ', 'two')
  await prefixed.mill.notify('a', 'three')
  await prefixed.mill.notify('b', 'queues')
  await until(() => heard.length >= 4)
  expect(heard.toSorted()).toEqual(['0 a | two', '0 a| one', '1 a| three', '1 b| queues'])
})

test('N1: a channel has a name of at most 63 bytes that no other namespace has', () => {
  const names = [
    channelName(namespace(), 'a'),
    channelName(namespace('millrace', 'a'), 'a'),
    channelName(namespace('other'), 'a'),
    channelName(namespace(), 'x'.repeat(200)),
    namespace().channel,
  ]
  expect(new Set(names).size).toBe(5)
  expect(names.every((name) => Buffer.byteLength(name) <= 63)).toBe(true)
})

test('N1: all listeners of a client share one connection, and one that is closed hears no more', async () => {
  await using t = await setup()
  const listeners = Array.from({ length: 20 }, (_, index) => t.mill.listen(`channel ${index % 4}`))
  await Promise.all(listeners.map((each) => each.ready()))
  const connections = async () =>
    (
      await t.sql.query(
        `select 1 from pg_stat_activity where application_name = 'millrace listen' and datname = current_database()`,
      )
    ).rows.length
  expect(await connections()).toBe(1)
  const [first, , , , second] = listeners
  await first?.close()
  await first?.close()
  await t.mill.notify('channel 0', 'after')
  if (first === undefined || second === undefined) throw new Error('there are twenty')
  expect(await next(second, 1)).toEqual([said('after')])
  expect(await next(first, 1)).toEqual([])
  // The last of its channel was closed, and another comes.
  await Promise.all(listeners.map((each) => each.close()))
  const again = t.mill.listen('channel 0')
  await again.ready()
  await t.mill.notify('channel 0', 'again')
  expect(await next(again, 1)).toEqual([said('again')])
})

test('N1: after a lost connection there is a resync, then what is said from there on', async () => {
  await using t = await setup()
  const listener = t.mill.listen('a')
  await listener.ready()
  await t.mill.notify('a', 'before')
  const iterator = listener[Symbol.asyncIterator]()
  expect((await iterator.next()).value).toEqual(said('before'))
  await t.sql.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'millrace listen' and datname = current_database()`,
  )
  expect((await iterator.next()).value).toEqual(RESYNC)
  await listener.ready()
  await t.mill.notify('a', 'after')
  expect((await iterator.next()).value).toEqual(said('after'))
  await listener.close()
  expect((await iterator.next()).done).toBe(true)
})

test('N1: a reader that falls behind keeps the newest thousand, after a resync', async () => {
  await using t = await setup()
  const listener = t.mill.listen('a')
  const witness = t.mill.listen('a')
  await Promise.all([listener.ready(), witness.ready()])
  const channel = channelName(namespace(t.schema), 'a')
  await t.sql.query(`select pg_notify($1, i::text) from generate_series(1, 1500) i`, [channel])
  let seen = 0
  for await (const each of witness) {
    seen += 1
    if (each.type === 'message' && each.payload === '1500') break
  }
  expect(seen).toBeGreaterThan(0)
  const heard = await next(listener, 1_000)
  expect(heard[0]).toEqual(RESYNC)
  expect(heard[1]).toEqual(said('502'))
  expect(heard.at(-1)).toEqual(said('1500'))
})

test('N1: a signal, the end of the loop and mill.close() end a listener', async () => {
  const t = await setup()
  const stop = new AbortController()
  const byLoop = t.mill.listen('a')
  const bySignal = t.mill.listen('a', { signal: stop.signal })
  const byClient = t.mill.listen('a')
  await byClient.ready()
  await t.mill.notify('a', 'x')
  expect(await next(byLoop, 1)).toEqual([said('x')])
  await expect(byLoop.ready()).rejects.toThrow(ClosedError)
  stop.abort(new Error('enough'))
  expect(await next(bySignal, 5)).toEqual([])
  const rest = next(byClient, 5)
  const late = t.mill
    .listen('b')
    .ready()
    .catch((error: unknown) => error)
  await t.close()
  expect(await rest).toEqual([said('x')])
  expect(await late).toBeInstanceOf(ClosedError)
  expect(() => t.mill.listen('a')).toThrow(ClosedError)
  await expect(t.mill.notify('a')).rejects.toThrow(ClosedError)
})

test('N1: an aborted signal and unknown options', async () => {
  await using t = await setup()
  expect(await next(t.mill.listen('a', { signal: AbortSignal.abort() }), 1)).toEqual([])
  const wrong: object = { signals: undefined }
  expect(() => t.mill.listen('a', wrong)).toThrow('Did you mean signal?')
})

test("N1: with wake: 'poll' there is nothing to listen with, and saying goes on", async () => {
  await using t = await setup({ wake: 'poll' })
  await using other = await setup({ schema: t.schema })
  expect(() => t.mill.listen('a')).toThrow("wake: 'listen'")
  const listener = other.mill.listen('a')
  await listener.ready()
  await t.mill.notify('a', 'heard')
  expect(await next(listener, 1)).toEqual([said('heard')])
})

test('N1: on an embedded database', { timeout: 60_000 }, async () => {
  const database = await startPglite()
  const mill = await open(database, { migrate: 'auto', logger: false })
  const [one, two] = [mill.listen('a'), mill.listen('b')]
  await Promise.all([one.ready(), two.ready()])
  await mill.notify('a', 'one')
  await database.transaction((tx) => mill.in(tx).notify('b', 'two'))
  expect(await next(one, 1)).toEqual([said('one')])
  expect(await next(two, 1)).toEqual([said('two')])
  await mill.close()
  await database.close()
})
