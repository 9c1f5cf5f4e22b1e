import { expect, test } from 'vitest'
import { defineStream, InvalidNameError, InvalidOptionError, typed } from '../../src/index.ts'
import { setup } from '../support/mill.ts'
import { numbered, orders } from '../support/streams.ts'

const data = typed<unknown>()
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may pass
const anyOf = (value: unknown): never => value as never

test.each<[string, () => unknown, new (...values: never[]) => Error]>([
  ['a blank name', () => defineStream(' ', { data }), InvalidNameError],
  ['a reserved name', () => defineStream('millrace.orders', { data }), InvalidNameError],
  ['a name of 201 bytes', () => defineStream('x'.repeat(201), { data }), InvalidNameError],
  ['no schema', () => defineStream('x', { data: anyOf({}) }), InvalidOptionError],
  ['no options', () => defineStream('x', anyOf(undefined)), InvalidOptionError],
  ['an option of elsewhere', () => defineStream('x', anyOf({ data, key: 1 })), InvalidOptionError],
])('a stream with %s is refused', (_what, define, error) => {
  expect(define).toThrow(error)
})

test('T1: publishing refuses a name for a stream, an empty key, an id that is none, unknown options', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const refused = [
    mill.publish(anyOf('orders'), anyOf(1)),
    mill.publish(orders, { n: 1 }, { key: '' }),
    mill.publish(orders, { n: 1 }, { key: 'x'.repeat(1_001) }),
    mill.publish(orders, { n: 1 }, { id: 'mine' }),
    mill.publish(orders, { n: 1 }, anyOf({ delay: '5s' })),
    mill.publishMany(orders, [anyOf({ n: 1 })]),
    mill.publishMany(orders, anyOf([{ data: { n: 1 }, at: 1 }])),
  ]
  for (const result of await Promise.allSettled(refused)) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { code: expect.stringMatching(/^INVALID_(OPTION|NAME)$/) },
    })
  }
  expect((await sql.query('select from event_inbox')).rows).toEqual([])
})

test('T3: readers refuse names, leases, places and counts that are none, before anything is done', async () => {
  await using bench = await setup()
  const { mill } = bench
  const mistakes: readonly object[] = [
    { as: '' },
    { as: 'millrace.x' },
    {},
    { as: 'a', lease: 0 },
    { as: 'a', lease: '30d' },
    { as: 'a', from: 'begin' },
    { as: 'a', from: 0 },
    { as: 'a', from: 1.5 },
    { as: 'a', from: new Date(Number.NaN) },
    { as: 'a', onTrimmed: 'ignore' },
    { as: 'a', onInvalid: 'ignore' },
    { as: 'a', limit: 5 },
    { as: 'a', consumer: 'b' },
  ]
  for (const options of mistakes) {
    const subscribe = (): unknown => mill.subscribe(orders, anyOf(options))
    expect(subscribe).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^INVALID_(OPTION|NAME)$/) }),
    )
  }
  for (const limit of [0, -1, 1.5, 10_001, '5']) {
    const consuming = mill.consume(orders, { as: 'a', limit: anyOf(limit) }, async () => undefined)
    await expect(consuming).rejects.toThrow('pass a whole number from 1 to 10000')
  }
  await expect(mill.consume(orders, { as: 'a' }, anyOf(undefined))).rejects.toThrow(
    'pass a function',
  )
  expect(await mill.streams.consumers(orders)).toEqual([])
})

test('T3: a limit of 0 or less gives nothing, one beyond 10 000 is an error', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publish(orders, { n: 1 })
  expect(await mill.streams.read(orders, { limit: 0 })).toEqual([])
  expect(await mill.streams.read(orders, { limit: -3 })).toEqual([])
  for (const options of [
    { limit: 10_001 },
    { limit: 0.5 },
    { after: -1 },
    { after: 0.5 },
    { key: '' },
  ]) {
    await expect(mill.streams.read(orders, options)).rejects.toThrow(/limit|offset|event key/)
  }
})

test('T3: an offset beyond the head, as of another stream, is refused where it would be believed', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await mill.publishMany(orders, numbered(1, 3))
  await mill.streams.read(orders)
  const beyond = 'ends at 3'
  await expect(mill.streams.save(orders, 'a', 4)).rejects.toThrow(beyond)
  await sql.query('begin')
  await expect(mill.in(sql).saveOffset(orders, 'a', 4)).rejects.toThrow(beyond)
  await sql.query('commit')
  await expect(mill.streams.trim(orders, { before: 5 })).rejects.toThrow(beyond)
  const from = mill.subscribe(orders, { as: 'a', from: 5 })[Symbol.asyncIterator]()
  await expect(from.next()).rejects.toThrow(beyond)
  // A reader that is ahead waits for nothing: it is told that there is nothing.
  expect(await mill.streams.read(orders, { after: 900 })).toEqual([])
  expect((await mill.streams.consumers(orders)).map(({ offset }) => offset)).toEqual([0])
})

test('T6: a trim refuses what is no place in the stream', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.publishMany(orders, numbered(1, 3))
  await mill.streams.read(orders)
  for (const before of [0, -1, 1.5, '0s', '-1d', 'x', null, undefined, new Date(Number.NaN)]) {
    await expect(mill.streams.trim(orders, { before: anyOf(before) })).rejects.toThrow(
      InvalidOptionError,
    )
  }
  await expect(mill.streams.trim(orders, anyOf({}))).rejects.toThrow(InvalidOptionError)
})

test('T1: the offset of an event that never was is waited for until the signal aborts, or the client closes', async () => {
  await using bench = await setup()
  const { mill } = bench
  const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const stop = new AbortController()
  const waiting = mill.streams.offset(orders, id, { signal: stop.signal })
  setImmediate(() => stop.abort(new Error('enough')))
  await expect(waiting).rejects.toThrow('enough')
  await expect(mill.streams.offset(orders, 'x')).rejects.toThrow(InvalidOptionError)
  const other = mill.streams.offset(orders, id)
  setImmediate(() => void mill.close())
  await expect(other).rejects.toThrow('closed')
})
