import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

// What goes in comes out: to the handler, from the handler, and for people who look.
const echo = defineJob('echo', { input: typed<unknown>(), result: typed<unknown>() })

let t: Setup
const seen: unknown[] = []
beforeAll(async () => {
  t = await setup()
  await t.mill
    .worker()
    .handle(echo, (input, run) => {
      seen.push(input)
      run.note('noted \u0000 \ud800')
      run.attach({ input })
      return input
    })
    .start()
})
afterAll(() => t.close())

async function storedOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await t.sql.query<Record<string, unknown>>(
    `select j.payload::text as payload, f.result::text as result, f.note
     from jobs j join finished f on f.job_id = j.id where j.id = $1`,
    [id],
  )
  return rows[0] ?? {}
}

describe('an input, a result and an attachment come back as they went in:', () => {
  test.each([
    ['the order of keys', { b: 1, a: 2, 10: 3, c: { z: 1, y: 2 } }],
    ['U+0000', { 'k\u0000': 'a\u0000b' }],
    ['half of a surrogate pair', ['\ud800', 'x\udc00y']],
    ['the six characters of an escape', { text: '\\u0000' }],
    ['other planes', '👋 𝔘 é \u2028'],
    ['numbers', [0, -1, 1e21, 5e-324, 1.7976931348623157e308, 0.1, 9007199254740991]],
    ['null inside', [null, { a: null }]],
    ['bare values', 'text'],
    ['an empty text as a key', { '': [] }],
    ['__proto__ as a key', JSON.parse('{"__proto__": {"a": 1}}') as unknown],
    ['a deep one', JSON.parse('['.repeat(500) + ']'.repeat(500)) as unknown],
    ['a large one', 'x'.repeat(200_000)],
  ])('%s', async (_what, input) => {
    const { id } = await t.mill.enqueue(echo, input)
    const job = await until(async () => {
      const found = await t.mill.jobs.get(echo, id)
      return found?.state === 'completed' ? found : undefined
    })
    expect(seen.at(-1)).toEqual(input)
    expect(job.input).toEqual(input)
    expect(job.result).toEqual(input)
    expect(job.attachment).toEqual({ input })
    const stored = await storedOf(id)
    expect(stored['payload']).toBe(JSON.stringify(input))
    expect(stored['result']).toBe(JSON.stringify(input))
  })
})

test('O2: text of a note that the database cannot hold becomes U+FFFD', async () => {
  const { id } = await t.mill.enqueue(echo, 1)
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  expect(await storedOf(id)).toMatchObject({ note: 'noted \ufffd \ufffd' })
  const journal = await t.mill.jobs.journal(id).page()
  expect(journal.items).toMatchObject([{ note: 'noted \ufffd \ufffd', attachment: { input: 1 } }])
})

test('what another language wrote stays as it wrote it: double keys, spaces, long numbers', async () => {
  const payload = '{ "n" : 12345678901234567890, "n":1.50 }'
  const { rows } = await t.sql.query<{ id: string }>(
    `select enqueue('elsewhere', $1::text::json) as id`,
    [payload],
  )
  const id = rows[0]?.id ?? ''
  const stored = await t.sql.query('select payload::text as payload from jobs where id = $1', [id])
  expect(stored.rows).toEqual([{ payload }])
  // For JavaScript the last of two keys counts, as everywhere in JSON.
  expect(await t.mill.jobs.get(id)).toMatchObject({ input: { n: 1.5 } })
})

test('SQL users can read a payload with the operators of json', async () => {
  await t.mill.enqueue(echo, { to: 'ada' }, { queue: 'unread' })
  const { rows } = await t.sql.query(
    `select payload ->> 'to' as to from all_jobs where queue = 'unread'`,
  )
  expect(rows).toEqual([{ to: 'ada' }])
})
