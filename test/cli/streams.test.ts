import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations, open } from 'millrace'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { numbered, orders, takeUntil } from '../support/streams.ts'

let database: FreshDatabase
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase()
})

afterAll(() => database.drop())

async function setup() {
  schemas += 1
  const schema = `cli_streams_${schemas}`
  await using tables = migrations(database.url, { schema })
  await tables.up()
  const run = (words: readonly string[], input = '') =>
    millrace([...words, '-d', database.url, '-s', schema], { input })
  return { run, schema }
}

test('T2: streams publish writes an event, and reads do not give it its offset', async () => {
  const { run, schema } = await setup()
  expect(await run(['streams', 'list'])).toEqual({ code: 0, out: 'no streams\n', err: '' })
  const published = await run(['streams', 'publish', 'orders', '{"n":1}', '--key', 'k'])
  expect(published).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^[0-9A-Z]{26}\n$/),
    err: '',
  })
  const second = await run(['streams', 'publish', 'orders', '-', '--json'], '{"n":2}')
  expect(JSON.parse(second.out)).toEqual({ id: expect.any(String) })
  expect((await run(['streams', 'read', 'orders'])).out).toBe('no events\n')
  expect((await run(['streams', 'list'])).out).toMatch(
    /^stream +head +events +waiting\norders +0 +0 +2\n$/,
  )

  await using mill = await open(database.url, { schema })
  await mill.streams.read(orders)
  expect((await run(['streams', 'read', 'orders'])).out).toMatch(
    /^offset +published at +key +data\n1 +\d{4}\S+Z +k +\{"n":1\}\n2 +\S+ +- +\{"n":2\}\n$/,
  )
  const one = await run(['streams', 'read', 'orders', '--after', '1', '--limit', '1', '--json'])
  expect(JSON.parse(one.out)).toMatchObject({ offset: 2, data: { n: 2 }, key: null })
  expect(
    (await run(['streams', 'read', 'orders', '--key', 'k', '--json'])).out.split('\n'),
  ).toHaveLength(2)
  expect(JSON.parse((await run(['streams', 'list', '--json'])).out)).toEqual({
    stream: 'orders',
    head: 2,
    events: 2,
    waiting: 0,
  })
})

test('T6: streams offsets shows consumers, trim removes the front, a read below it says so', async () => {
  const { run, schema } = await setup()
  await using mill = await open(database.url, { schema })
  expect((await run(['streams', 'offsets', 'orders'])).out).toBe('no consumers\n')
  await mill.publishMany(orders, numbered(1, 9))
  await takeUntil(mill.subscribe(orders, { as: 'billing' }), 4)
  expect((await run(['streams', 'offsets', 'orders'])).out).toMatch(
    /^consumer +offset +lag +holder\nbilling +3 +6 +-\n$/,
  )
  const listed = await run(['streams', 'offsets', 'orders', '--json'])
  expect(JSON.parse(listed.out)).toEqual({ as: 'billing', offset: 3, lag: 6, holder: null })
  expect((await run(['streams', 'trim', 'orders', '--before', '7'])).out).toBe('6 removed\n')
  expect((await run(['streams', 'trim', 'orders', '--before', '30d', '--json'])).out).toMatch(
    '"removed": 0',
  )
  expect(await run(['streams', 'read', 'orders', '--after', '2'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('EVENTS_TRIMMED: events 3 to 6'),
  })
  expect((await run(['streams', 'trim', 'orders', '--before', '100'])).code).toBe(2)
  expect((await run(['streams', 'trim', 'orders', '--before', 'soon'])).code).toBe(2)
  expect((await run(['streams', 'trim', 'orders'])).code).toBe(2)
  expect((await run(['streams', 'read', 'orders', '--after', '-1'])).code).toBe(2)
})

test('T2: streams follow prints what gets its offset, from an offset on', async () => {
  const { run, schema } = await setup()
  await using mill = await open(database.url, { schema })
  await mill.publishMany(orders, numbered(1, 3))
  await mill.streams.read(orders)
  const following = run(['streams', 'follow', 'orders', '--after', '1', '--limit', '4'])
  await mill.publishMany(orders, numbered(4, 5))
  await mill.streams.read(orders)
  const { code, out } = await following
  expect(code).toBe(0)
  expect(out).toMatch(/^2 {2}\S+ {2}- {2}\{"n":2\}\n3 .*\n4 .*\n5 .*\n$/)
})
