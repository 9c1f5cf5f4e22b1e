import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { DatabaseError } from '../../src/errors.ts'
import { defineJob, typed } from '../../src/index.ts'
import type { Mill } from '../../src/index.ts'
import { setup } from '../support/mill.ts'
import { orders } from '../support/streams.ts'

const SECRET = 'geheim-4711'
const CHANNELS = [
  'tracing:millrace:statement:start',
  'tracing:millrace:statement:end',
  'tracing:millrace:statement:asyncStart',
  'tracing:millrace:statement:asyncEnd',
  'tracing:millrace:statement:error',
  'tracing:millrace:run:start',
  'tracing:millrace:run:asyncEnd',
  'tracing:millrace:run:error',
  'millrace:notice',
  'millrace:job',
]

/** Everything that is told while `work` goes on, as a logger that prints all of it would show it. */
async function toldDuring(work: (mill: Mill) => Promise<void>): Promise<string> {
  const lines: string[] = []
  const write = (message: unknown): void => void lines.push(shown(message))
  const log = (...message: readonly unknown[]): void => write(message)
  const logger = { error: log, warn: log, info: log, debug: log }
  for (const each of CHANNELS) subscribe(each, write)
  try {
    await using t = await setup({ logger })
    // Whatever is written fails, and PostgreSQL's detail is the row.
    for (const table of ['jobs', 'event_inbox']) {
      await t.sql.query(`alter table ${table} add constraint none check (false) not valid`)
    }
    await work(t.mill)
  } finally {
    for (const each of CHANNELS) unsubscribe(each, write)
  }
  return lines.join('\n')
}

// `result` is what traced work gave: nobody logs the rows of a statement.
function shown(message: unknown): string {
  const told = typeof message === 'object' && message !== null ? { ...message } : message
  if (typeof told === 'object' && told !== null) Reflect.deleteProperty(told, 'result')
  return inspect(told, { depth: 20, maxStringLength: null })
}

const mail = defineJob('mail', { input: typed<{ card: string }>() })
const keyed = defineJob('keyed', { input: typed<{ card: string }>(), dedup: 'one' })

test('a failing enqueue and a failing publish are told without their payload', async () => {
  const errors: unknown[] = []
  const told = await toldDuring(async (mill) => {
    const attempts = [
      () => mill.enqueue(mail, { card: SECRET }),
      () => mill.enqueueMany(mail, [{ card: SECRET }, { card: SECRET }]),
      () => mill.enqueue(keyed, { card: SECRET }),
      () => mill.publish(orders, { n: Number.MAX_SAFE_INTEGER }),
    ]
    for (const attempt of attempts) await attempt().catch((error: unknown) => errors.push(error))
  })
  expect(errors).toHaveLength(4)
  for (const error of errors) expect(error).toBeInstanceOf(DatabaseError)
  expect(told).toContain('23514')
  expect(told).not.toContain(SECRET)
  expect(inspect(errors, { depth: 20 })).not.toContain(SECRET)
  expect(inspect(errors, { depth: 20 })).not.toContain(String(Number.MAX_SAFE_INTEGER))
  expect(JSON.stringify(errors)).not.toContain(SECRET)
  // The row is what the server said of it, for who asks: else the test could not fail.
  const [error] = errors
  const cause = error instanceof Error ? error.cause : undefined
  expect(Reflect.get(Object(cause), 'detail')).toContain(SECRET)
})

test('a payload that cannot be notified is not quoted', async () => {
  await using t = await setup()
  const refused = t.mill.notify('news', `${SECRET}\0`)
  const error: unknown = await refused.catch((thrown: unknown) => thrown)
  expect(inspect(error, { depth: 20 })).not.toContain(SECRET)
  expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'payload' })
})
