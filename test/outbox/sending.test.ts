import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import type { Schema } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { defineOutbox } from '../../src/outbox/outbox.ts'
import type { Delivery } from '../../src/worker/deliver.ts'
import { defineHandlers } from '../../src/worker/handlers.ts'
import { databaseOfFile, places, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const mails = defineOutbox('mails', { message: typed<string>() })

/** A schema that refuses the text "bad". */
const strict: Schema<string, string> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      value === 'bad'
        ? { issues: [{ message: 'it is bad' }] }
        : { value: `parsed ${String(value)}` },
  },
}

const FAULTS: readonly (readonly [what: string, options: object, text: RegExp])[] = [
  ['an empty key', { key: '' }, /key.*empty/],
  ['a key of 1 001 bytes', { key: 'ä'.repeat(500) + 'x' }, /1001 bytes.*at most 1000/],
  ['a key that is no text', { key: 7 }, /not text/],
  ['a key with U+0000', { key: 'a\u0000' }, /U\+0000/],
  ['half of a surrogate pair', { key: '\ud800' }, /surrogate/],
  ['an option of jobs', { priority: 'high' }, /send\(\) has no such option.*key, delay/],
  ['a delay that is none', { delay: 'soon' }, /soon/],
]

test.each(FAULTS)('B1: %s is an error before any I/O', async (_what, options, text) => {
  await using t = await setup()
  using watched = watchStatements(t.schema)
  await expect(t.mill.send(mails, 'hello', options)).rejects.toThrow(text)
  expect(watched.names).not.toContain('send_messages')
  expect((await places(t.sql, t.schema)).jobs).toBe(0)
})

test('B1: a message that the schema refuses, or that is too large, is an error before any I/O', async () => {
  await using t = await setup({ maxPayload: 1_000 })
  const checked = defineOutbox('checked', { message: strict })
  await expect(t.mill.send(checked, 'bad')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(t.mill.send(mails, 'x'.repeat(1_001), { key: 'k' })).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
  })
  expect((await places(t.sql, t.schema)).jobs).toBe(0)
})

test('B1: what is not an outbox is an error that says so', async () => {
  await using t = await setup()
  const job = defineJob('job', { input: typed<string>() })
  const pretended: object = job
  await expect(Reflect.apply(t.mill.send, t.mill, [pretended, 'x'])).rejects.toThrow(
    /not an outbox\. Pass what defineOutbox\(\) returned/,
  )
  expect(() => Reflect.apply(defineHandlers().deliver, undefined, ['mails', () => 0])).toThrow(
    /not an outbox/,
  )
  expect(() => Reflect.apply(defineHandlers().deliver, undefined, [mails, 'text'])).toThrow(
    /pass a function for outbox "mails"/,
  )
})

const MISMADE: readonly (readonly [what: string, name: string, options: object, text: RegExp])[] = [
  ['a reserved name', 'millrace.mails', { message: typed() }, /outbox.*belong to Millrace/],
  ['no schema', 'x', {}, /no Standard Schema/],
  ['an option of jobs that it has not', 'x', { message: typed(), merge: 'keep' }, /no such option/],
  ['a key that is no function', 'x', { message: typed(), key: 'k' }, /function of the message/],
  ['a policy for the dead that there is not', 'x', { message: typed(), onDead: 'stop' }, /'halt'/],
  ['a function where a value is due', 'x', { message: typed(), keep: () => 0 }, /not a function/],
]

test.each(MISMADE)('B1: defineOutbox refuses %s', (_what, name, options, text) => {
  expect(() => Reflect.apply(defineOutbox, undefined, [name, options])).toThrow(text)
})

test('B1: the key comes from the call, else from the parsed message; the delivery says it', async () => {
  await using t = await setup()
  const keyed = defineOutbox('keyed', {
    message: strict,
    key: (parsed) => (parsed === 'parsed none' ? undefined : parsed),
    retry: { failures: 3 },
  })
  const seen = new Map<string, Delivery>()
  const handlers = defineHandlers().deliver(
    keyed,
    (name, delivery) => void seen.set(name, delivery),
  )
  await using worker = t.mill.worker().use(handlers)
  await worker.start()
  await t.mill.send(keyed, 'own')
  await t.mill.send(keyed, 'given', { key: '"quoted" \u0001' })
  const { id } = await t.mill.send(keyed, 'none')
  await until(() => seen.size === 3)
  expect(seen.get('parsed own')).toMatchObject({ key: 'parsed own', number: 1, failures: 0 })
  expect(seen.get('parsed given')).toMatchObject({ key: '"quoted" \u0001' })
  expect(seen.get('parsed none')).toMatchObject({ key: null, id, deadline: null })
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  const job = await t.mill.jobs.get(seen.get('parsed own')?.id ?? '')
  expect(job).toMatchObject({
    kind: 'keyed',
    dedupKey: 'parsed own',
    failureLimit: 3,
    input: 'own',
  })
})

test('B1: an outbox has one handler in a worker', async () => {
  await using t = await setup()
  const worker = t.mill.worker().deliver(mails, () => undefined)
  expect(() => worker.deliver(mails, () => undefined)).toThrow(/has a handler here already/)
})

test('B1: a send whose answer was lost is sent again, and is there once', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  const lost = proxy.loseAnswer('outbox_inbox')
  const sent = ['second', 'third'].map((name) => t.mill.send(mails, name, { key: 'k' }))
  await lost
  const ids = (await Promise.all(sent)).map(({ id }) => id)
  const { rows } = await t.sql.query<{ job_id: string }>(
    'select job_id from outbox_line order by position',
  )
  expect(rows.map(({ job_id: id }) => id)).toEqual(ids)
  expect((await t.sql.query('select from outbox_inbox')).rows.length).toBe(2)
})
