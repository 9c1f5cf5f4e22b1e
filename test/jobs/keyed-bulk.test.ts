import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { untilBlocked } from '../support/blocked.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'

interface Item {
  readonly key?: string | undefined
  readonly n: number
}

const input = typed<Item>()
const dedup = ({ key }: Item): string | undefined => key
const item = defineJob('item', { input, dedup })

async function waiting(t: Setup): Promise<Item[]> {
  const { rows } = await t.sql.query<{ payload: Item }>(
    'select payload from jobs join ready on id = job_id order by ready.dedup_key, id',
  )
  return rows.map(({ payload }) => payload)
}

test('E5, D4: results come in the order of the call, whatever the order of the keys', async () => {
  await using t = await setup()
  const old = await t.mill.enqueue(item, { key: 'b', n: 0 })
  const results = await t.mill.enqueueMany(item, [
    { key: 'c', n: 1 },
    { n: 2 },
    { key: 'b', n: 3 },
    { key: 'a', n: 4 },
    { n: 5 },
    { key: 'c', n: 6 },
    { key: 'c', n: 7 },
  ])
  const outcomes = results.map(({ outcome }) => outcome).join(' ')
  expect(outcomes).toBe('inserted inserted replaced inserted inserted replaced replaced')
  expect(results[2]?.id).toBe(old.id)
  expect(results[5]?.id).toBe(results[0]?.id)
  expect(results[6]?.id).toBe(results[0]?.id)
  expect(new Set(results.map(({ asked }) => asked)).size).toBe(7)
  expect((await waiting(t)).filter(({ key }) => key !== undefined)).toEqual([
    { key: 'a', n: 4 },
    { key: 'b', n: 3 },
    { key: 'c', n: 7 },
  ])
})

test('E2: an id twice in one call, with one key or two, is one ask', async () => {
  await using t = await setup()
  const id = '01JZZZZZZZZZZZZZZZZZZZZZZZ'
  const inputs = [
    { key: 'a', n: 1 },
    { key: 'a', n: 2 },
    { key: 'b', n: 3 },
  ]
  const results = await t.mill.enqueueMany(item, inputs, { id })
  expect(results.map(({ outcome }) => outcome)).toEqual(['inserted', 'kept', 'kept'])
  expect(await waiting(t)).toEqual([{ key: 'a', n: 1 }])
})

test('E5: a call whose merge throws writes nothing of it', async () => {
  await using t = await setup()
  const touchy = defineJob('item', {
    input,
    dedup,
    merge: (existing, incoming) => {
      if (incoming.input.n === 13) throw new RangeError('not 13')
      return { input: { key: 'z', n: existing.input.n + incoming.input.n } }
    },
  })
  await t.mill.enqueue(item, { key: 'z', n: 1 })
  const asks = [{ key: 'a', n: 1 }, { n: 2 }, { key: 'z', n: 2 }, { key: 'z', n: 13 }]
  await expect(t.mill.enqueueMany(touchy, asks)).rejects.toThrow('not 13')
  expect(await waiting(t)).toEqual([{ key: 'z', n: 1 }])
  expect((await t.sql.query('select from journal')).rowCount).toBe(0)
  const [, , third] = await t.mill.enqueueMany(touchy, asks.slice(0, 3))
  expect(third?.outcome).toBe('merged')
  expect(await waiting(t)).toContainEqual({ key: 'z', n: 3 })
})

test('E1, E5: in a caller’s transaction a call that fails is taken back whole, and the transaction goes on', async () => {
  await using t = await setup()
  const caller = await t.session()
  const touchy = defineJob('item', {
    input,
    dedup,
    merge: () => {
      throw new RangeError('never')
    },
  })
  await t.mill.enqueue(item, { key: 'z', n: 1 })
  await caller.query('begin')
  await t.mill.in(caller).enqueueMany(item, [{ key: 'y', n: 1 }])
  const asks = [{ n: 8 }, { key: 'a', n: 1 }, { key: 'z', n: 2 }]
  await expect(t.mill.in(caller).enqueueMany(touchy, asks)).rejects.toThrow('never')
  expect(await t.mill.in(caller).enqueue(item, { key: 'y', n: 2 })).toMatchObject({
    outcome: 'replaced',
  })
  await caller.query('commit')
  expect(await waiting(t)).toEqual([
    { key: 'y', n: 2 },
    { key: 'z', n: 1 },
  ])
})

test('D4, M6: two calls that share keys in opposite orders do not stand in a circle', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  // Orders in which bytes and the language of the database differ.
  const keys = ['B', 'a', 'ä', 'Z', 'z', '1', 'É', 'e', '~', '😀', '\uffff']
  const inserted: number[] = []
  for (let round = 0; round < 20; round += 1) {
    const named = keys.map((key) => ({ key: `${round % 4} ${key}`, n: round }))
    const answers = await Promise.all([
      t.mill.enqueueMany(item, named),
      other.mill.enqueueMany(item, named.toReversed()),
    ])
    const outcomes = answers.flat().map(({ outcome }) => outcome)
    inserted.push(outcomes.filter((outcome) => outcome === 'inserted').length)
  }
  expect(inserted).toEqual([...Array(4).fill(keys.length), ...Array(16).fill(0)])
  await assertOnePlace(t.sql, t.schema)
})

test('D4: a call that ends in a deadlock goes back to its keys and takes effect once', async () => {
  await using t = await setup()
  const caller = await t.session()
  await t.mill.enqueueMany(item, [
    { key: 'a', n: 1 },
    { key: 'b', n: 1 },
  ])
  // The application takes its locks in its own order: b first.
  await caller.query('begin')
  await caller.query(`set local deadlock_timeout = '30s'`)
  await t.mill.in(caller).enqueue(item, { key: 'b', n: 2 })
  const other = await t.session()
  await other.query('begin')
  const asks = [{ n: 0 }, { key: 'a', n: 3 }, { key: 'b', n: 3 }]
  const call = t.mill.in(other).enqueueMany(item, asks)
  await untilBlocked(t.sql)
  // Closes the circle; the server ends the call, which waits with the shorter patience.
  await t.mill.in(caller).enqueue(item, { key: 'a', n: 2 })
  await caller.query('commit')
  expect((await call).map(({ outcome }) => outcome)).toEqual(['inserted', 'replaced', 'replaced'])
  await other.query('commit')
  expect((await waiting(t)).filter(({ key }) => key !== undefined)).toEqual([
    { key: 'a', n: 3 },
    { key: 'b', n: 3 },
  ])
})

test('races 16: a call whose commit was not answered is looked up, and takes effect once', async () => {
  await using t = await setup()
  await using proxy = await proxyTo(t.url)
  await using other = await setup({ schema: t.schema, database: proxy.url, wake: 'poll' })
  await t.mill.enqueue(item, { key: 'a', n: 0 })
  const only = async (asks: readonly Item[]): Promise<string> => {
    const lost = proxy.loseAnswer('commit\0')
    const answers = await other.mill.enqueueMany(item, asks)
    await lost
    return answers.map(({ outcome }) => outcome).join(' ')
  }
  expect(await only([{ key: 'a', n: 1 }])).toBe('replaced')
  const three = [{ key: 'a', n: 2 }, { key: 'b', n: 2 }, { n: 2 }]
  expect(await only(three)).toBe('replaced inserted inserted')
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 3 })
  const { rowCount } = await t.sql.query('select from journal')
  expect(rowCount).toBe(2)
})

test('E5: first asks of many keys are placed together', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const inputs = Array.from({ length: 6_000 }, (_, n) => ({ key: `key ${n}`, n }))
  const results = await t.mill.enqueueMany(item, inputs)
  expect(results.every(({ outcome }) => outcome === 'inserted')).toBe(true)
  expect(statements.count('place_keyed')).toBe(2)
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 6_000 })
})
