import { expect, test } from 'vitest'
import { subscribe as onStatement, unsubscribe } from 'node:diagnostics_channel'
import { defineJob } from '../../src/index.ts'
import { namespace } from '../../src/database/namespace.ts'
import { setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { orders } from '../support/streams.ts'
import { until } from '../support/until.ts'

// PostgreSQL asks for no right to notify: whoever can connect can say anything on our channel.

const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const FORGED = [
  '',
  ' ',
  'due',
  'due NaN default',
  'due 999999999999999 default',
  'due -999999999999999.5 default',
  'cancel somebody',
  `wait ${ID}`,
  `wait {${ID},"'; drop table jobs --"}`,
  `ended ${ID}`,
  'events [',
  'events [{"e":"created","i":1},null,7,{"e":"__proto__","i":"","k":"","q":""}]',
  `events ${'['.repeat(7_000)}`,
  'lock storm',
  'unlock storm',
  'stream orders',
  'consumer orders',
  'sequenced 999999999999999 orders',
  'sequenced 1e9 orders',
  'queues',
  'schedules',
  'rerun',
  'x'.repeat(7_999),
  'due 1 \u001B[2J\n',
]

async function forge(t: Setup): Promise<void> {
  const { channel } = namespace(t.schema)
  for (const payload of FORGED) await t.sql.query('select pg_notify($1, $2)', [channel, payload])
}

test('hints that somebody made up change nothing but when it is looked', async () => {
  await using t = await setup({ events: true })
  const greet = defineJob('greet')
  const worker = t.mill.worker().handle(greet, () => undefined)
  await worker.start()
  const heard = t.mill.jobs.events()[Symbol.asyncIterator]()
  await forge(t)
  const { id } = await t.mill.enqueue(greet)
  await t.mill.jobs.wait(greet, id, { timeout: '20s' })
  await forge(t)
  await worker.stop()
  await heard.return?.()
  expect(await t.mill.jobs.get(greet, id)).toMatchObject({ state: 'completed', run: 1 })
})

test('T2: a head that somebody made up lets a reader sleep again', async () => {
  await using t = await setup()
  let reads = 0
  const count = (message: unknown): void => {
    if (JSON.stringify(message).includes('"read_events"')) reads += 1
  }
  onStatement('tracing:millrace:statement:start', count)
  try {
    const seen: number[] = []
    const stop = new AbortController()
    const reading = (async () => {
      for await (const { data } of t.mill.subscribe(orders, {
        as: 'reader',
        signal: stop.signal,
      })) {
        seen.push(data.n)
      }
    })()
    await until(() => reads > 0)
    await forge(t)
    await t.mill.publish(orders, { n: 1 })
    await until(() => seen.length === 1)
    // A measure of time that is none of the clock's: as many statements as the reader may not have sent.
    reads = 0
    for (let round = 0; round < 300; round += 1) await t.sql.query('select 1')
    expect(reads).toBeLessThan(20)
    stop.abort()
    await reading
  } finally {
    unsubscribe('tracing:millrace:statement:start', count)
  }
})
