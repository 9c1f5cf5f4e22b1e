import { expect, test } from 'vitest'
import { decodeEvents, encodeEvent } from '../../src/jobs/event-text.ts'
import { defineJob, InvalidOptionError, open } from '../../src/index.ts'
import type { JobNews, Mill } from '../../src/index.ts'
import { namespace } from '../../src/database/namespace.ts'
import { databaseOfFile, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit')

test('H6: on request what becomes of jobs is heard in other processes, in order', async () => {
  await using t = await setup({ events: true })
  await using other = await setup({ schema: t.schema })
  using heard = listen(other.mill)
  await until(() => heard.news.length > 0)
  expect(heard.news).toEqual([{ event: 'resync' }])

  const { id } = await t.mill.enqueue(visit)
  const [handle] = await t.mill.claim({ kinds: [visit] })
  await handle?.complete()

  await until(() => heard.news.length === 4)
  const job = { id, kind: 'visit', queue: 'default', asked: null, inTransaction: false }
  expect(heard.news.slice(1)).toMatchObject([
    { ...job, event: 'created', run: 0, worker: null, at: expect.any(Date) },
    { ...job, event: 'started', run: 1, worker: expect.any(String) },
    { ...job, event: 'completed', run: 1 },
  ])
})

test('H6: many events are few notifications, whatever their names', async () => {
  await using t = await setup({ events: true })
  using heard = listen(t.mill)
  await until(() => heard.news.length > 0)
  const told = await notificationsOf(t)
  const queue = 'ü'.repeat(100)
  const inputs = Array.from({ length: 500 }, () => undefined)
  await t.mill.enqueueMany(visit, inputs, { queue, delay: '1h' })
  await until(() => heard.news.length === 501)
  expect(heard.news.at(-1)).toMatchObject({ event: 'created', queue })
  const sent = await until(() => told.length > 0 && told)
  expect(sent.length).toBeLessThan(40)
  expect(Math.max(...sent.map((each) => Buffer.byteLength(each)))).toBeGreaterThan(7_000)
})

test('H6: a client tells others nothing unless it was asked to', async () => {
  await using t = await setup()
  const told = await notificationsOf(t)
  await t.mill.enqueue(visit)
  await t.mill.close()
  await t.sql.query('select pg_notify($1, $2)', [namespace(t.schema).channel, 'end'])
  await until(() => told.includes('end'))
  expect(told).toEqual([expect.stringMatching(/^due /), 'end'])
})

test('H6: listening ends with its signal, with the loop, and with the client', async () => {
  await using t = await setup()
  const stop = new AbortController()
  const bySignal = listen(t.mill, stop.signal)
  const byClose = listen(t.mill)
  stop.abort()
  await bySignal.ended
  for await (const each of t.mill.jobs.events()) {
    expect(each).toEqual({ event: 'resync' })
    break
  }
  await t.mill.close()
  await byClose.ended
})

test('H6: without notifications there is nothing to hear or to tell, and both say so', async () => {
  await using t = await setup({ wake: 'poll' })
  expect(() => t.mill.jobs.events()).toThrow(InvalidOptionError)
  const both = { events: true, wake: 'poll' } as const
  await expect(open(await databaseOfFile(), both)).rejects.toThrow('Leave out one of the two')
  const wrong: object = { events: 'yes' }
  await expect(open(await databaseOfFile(), wrong)).rejects.toThrow('give true or false')
})

test('H6: an event comes through as it was, and what is none is left out', () => {
  const job = { id: 'i', kind: 'k "', queue: 'ü\n', run: 3, worker: 'w', asked: 'a' }
  const text = encodeEvent('merged', { ...job, inTransaction: true }, 5)
  const event = { ...job, event: 'merged', inTransaction: true, at: new Date(5) }
  expect(decodeEvents(`[${text}]`)).toEqual([event])
  expect(decodeEvents(`[${text},{"e":"born","i":"i","k":"k","q":"q"},7,null,{}]`)).toEqual([event])
  for (const other of ['', '{', '7', 'null', '{}']) expect(decodeEvents(other)).toEqual([])
})

/** What is sent on the namespace's channel, from now on. */
async function notificationsOf(t: Setup): Promise<readonly string[]> {
  const told: string[] = []
  const sql = await t.session()
  sql.on('notification', ({ payload = '' }) => told.push(payload))
  await sql.query(`listen ${namespace(t.schema).channel}`)
  return told
}

interface Heard extends Disposable {
  readonly news: readonly JobNews[]
  readonly ended: Promise<void>
}

function listen(mill: Mill, signal?: AbortSignal): Heard {
  const news: JobNews[] = []
  const stop = new AbortController()
  async function hear(): Promise<void> {
    const all = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
    for await (const each of mill.jobs.events({ signal: all })) news.push(each)
  }
  return { news, ended: hear(), [Symbol.dispose]: () => stop.abort() }
}
