import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import type { Statements } from '../support/statements.ts'

let t: Setup
let statements: Statements
beforeAll(async () => {
  t = await setup({ maxPayload: 1_000 })
})
afterAll(() => t.close())
beforeEach(() => {
  statements = watchStatements(t.schema)
  return () => statements[Symbol.dispose]()
})

const anything = defineJob('anything', { input: typed<unknown>() })
const cycle: { self?: unknown } = {}
cycle.self = cycle

test.each([
  ['a bigint', { items: [{ price: 1n }] }, ['items', 0, 'price']],
  ['NaN', { a: Number.NaN }, ['a']],
  ['infinity', [1, Number.POSITIVE_INFINITY], [1]],
  ['a function', { run: () => 1 }, ['run']],
  ['a Date', { at: new Date(0) }, ['at']],
  ['a Map', { map: new Map() }, ['map']],
  ['bytes', { bytes: new Uint8Array(1) }, ['bytes']],
  ['a cycle', cycle, ['self']],
  ['undefined in an array', [undefined], [0]],
])('E6, replays 4: %s is refused with its path, before any SQL', async (_what, input, path) => {
  const asked = t.mill.enqueue(anything, input)
  await expect(asked).rejects.toMatchObject({ code: 'INVALID_INPUT', issues: [{ path }] })
  expect(statements.names).toEqual([])
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0 })
})

test('E6, replays 4: a number of 20 digits comes back as the number that JavaScript has, digits in a text as they are', async () => {
  const input = { number: Number('12345678901234567890'), text: '12345678901234567890' }
  const { id } = await t.mill.enqueue(anything, input)
  expect(await t.mill.jobs.get(id)).toMatchObject({ input })
})

test('E6: what a schema refuses is refused with all its issues, before any statement', async () => {
  const kind = defineJob('strict', {
    input: z.object({ to: z.email(), count: z.number().int() }),
  })
  const asked = t.mill.enqueue(kind, { to: 'nobody', count: 1.5 })
  await expect(asked).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    kind: 'strict',
    issues: [{ path: ['to'] }, { path: ['count'] }],
  })
  expect(statements.names).toEqual([])
})

test('E6: an asynchronous schema is waited for', async () => {
  const kind = defineJob('asked', {
    input: z.object({ n: z.number() }).refine(async ({ n }) => Promise.resolve(n > 0)),
  })
  await expect(t.mill.enqueue(kind, { n: 0 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(statements.names).toEqual([])
})

test('E6: a payload over the limit is refused with its size, in bytes', async () => {
  const input = 'é'.repeat(500)
  await expect(t.mill.enqueue(anything, input)).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    bytes: 1_002,
    limit: 1_000,
  })
  expect(statements.names).toEqual([])
})

test('E6: a refused input takes no other call of the same turn with it', async () => {
  const [good, bad] = await Promise.allSettled([
    t.mill.enqueue(anything, 1),
    t.mill.enqueue(anything, 1n),
  ])
  expect([good.status, bad.status]).toEqual(['fulfilled', 'rejected'])
})

test('E6: members that are undefined vanish, as in JSON', async () => {
  const { id } = await t.mill.enqueue(anything, { a: undefined, b: 1 })
  expect(await t.mill.jobs.get(id)).toMatchObject({ input: { b: 1 } })
  const { rows } = await t.sql.query('select payload::text as payload from jobs where id = $1', [
    id,
  ])
  expect(rows).toEqual([{ payload: '{"b":1}' }])
})

test('E6: no input is stored as null, and a kind without input refuses one', async () => {
  const bare = defineJob('bare')
  const { id } = await t.mill.enqueue(bare)
  const { rows } = await t.sql.query('select payload::text as payload from jobs where id = $1', [
    id,
  ])
  expect(rows).toEqual([{ payload: 'null' }])
  // @ts-expect-error the kind takes no input
  await expect(t.mill.enqueue(bare, { a: 1 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})
