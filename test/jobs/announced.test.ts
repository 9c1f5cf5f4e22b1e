import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { parseHint } from '../../src/database/hint.ts'
import { namespace } from '../../src/database/namespace.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const greet = defineJob('greet', { input: typed<{ n: number }>() })

/** Listens on the channel; what it gives says what was heard up to now. */
async function listen(t: Setup): Promise<() => Promise<readonly string[]>> {
  const { channel } = namespace(t.schema)
  const listener = await t.session()
  const heard: string[] = []
  listener.on('notification', ({ payload = '' }) => heard.push(payload))
  await listener.query(`listen ${channel}`)
  return async () => {
    await t.sql.query(`select pg_notify($1, 'the end')`, [channel])
    await until(() => heard.at(-1) === 'the end')
    return heard.splice(0).slice(0, -1)
  }
}

test('E8: a job that is due now is announced with its queue and its due time', async () => {
  await using t = await setup()
  const heard = await listen(t)
  const { id } = await t.mill.enqueue(greet, { n: 1 }, { queue: 'two words' })
  const job = await t.mill.jobs.get(id)
  const hints = (await heard()).map(parseHint)
  expect(hints).toEqual([{ type: 'due', queue: 'two words', dueAt: job?.createdAt.getTime() }])
})

test('E8: a job due within the poll bound is announced with its due time, one due later is not', async () => {
  await using t = await setup()
  const heard = await listen(t)
  const { id } = await t.mill.enqueue(greet, { n: 1 }, { delay: '20s' })
  await t.mill.enqueue(greet, { n: 2 }, { delay: '5m' })
  await t.mill.enqueue(greet, { n: 3 }, { at: new Date('2100-01-01T00:00:00Z') })
  const job = await t.mill.jobs.get(id)
  if (job?.state !== 'pending') throw new Error('the job does not wait')
  const hints = (await heard()).map(parseHint)
  expect(hints).toEqual([{ type: 'due', queue: 'default', dueAt: job.dueAt.getTime() }])
  expect(job.dueAt.getTime() - job.createdAt.getTime()).toBe(20_000)
})

test('E8: a statement of many asks says each queue once, with its soonest due time', async () => {
  await using t = await setup()
  const heard = await listen(t)
  const inputs = Array.from({ length: 100 }, (_, n) => ({ n }))
  await t.mill.enqueueMany(greet, inputs, ({ n }) => ({
    queue: n % 2 === 0 ? 'even' : 'odd',
    delay: 1_000 + n,
  }))
  const hints = (await heard()).map(parseHint).filter((hint) => hint?.type === 'due')
  expect(hints.map((hint) => hint?.queue ?? '').toSorted()).toEqual(['even', 'odd'])
  const [even = 0, odd = 0] = ['even', 'odd'].map((queue) =>
    Number(hints.find((hint) => hint?.queue === queue)?.dueAt),
  )
  expect(odd - even).toBe(1)
})

test('E8: an ask that was kept is not announced again', async () => {
  await using t = await setup()
  const { id } = await t.mill.enqueue(greet, { n: 1 })
  const heard = await listen(t)
  await t.mill.enqueue(greet, { n: 1 }, { id })
  expect(await heard()).toEqual([])
})

test("E8: with wake: 'poll' nothing is announced", async () => {
  await using t = await setup({ wake: 'poll' })
  const heard = await listen(t)
  await t.mill.enqueue(greet, { n: 1 })
  await t.mill.enqueueMany(greet, [{ n: 1 }, { n: 2 }])
  expect(await heard()).toEqual([])
})

test('G4: two namespaces in one database do not hear each other', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema, prefix: 'other_' })
  const heard = await listen(t)
  await other.mill.enqueue(greet, { n: 1 })
  expect(await heard()).toEqual([])
  expect(namespace(t.schema, 'other_').channel).not.toBe(namespace(t.schema).channel)
})
