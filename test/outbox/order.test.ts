import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineOutbox } from '../../src/outbox/outbox.ts'
import type { Delivery } from '../../src/worker/deliver.ts'
import { RetryIn } from '../../src/worker/verdict.ts'
import type { Worker } from '../../src/worker/worker.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, manualSetup, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const message = typed<string>()
const mails = defineOutbox('mails', { message })

/** A worker that notes what it delivers, in order. */
async function noting(t: Setup): Promise<{ names: string[]; worker: Worker }> {
  const names: string[] = []
  const worker: Worker = t.mill.worker().deliver(mails, (name) => void names.push(name))
  await worker.start()
  return { names, worker }
}

test('B1: messages of a key are delivered in the order of their commits, not of their sending', async () => {
  await using t = await setup()
  const [one, other] = [await t.session(), await t.session()]
  await one.query('begin')
  await t.mill.in(one).send(mails, 'sent first, committed last', { key: 'k' })
  await other.query('begin')
  await t.mill.in(other).send(mails, 'sent second, committed first', { key: 'k' })
  await other.query('commit')
  await t.mill.send(mails, 'between', { key: 'k' })
  await one.query('commit')
  const { names } = await noting(t)
  await until(() => names.length === 3)
  expect(names).toEqual(['sent second, committed first', 'between', 'sent first, committed last'])
  await until(async () => (await places(t.sql, t.schema)).finished === 3)
  await assertOnePlace(t.sql, t.schema)
})

test('B1: messages of one transaction, and calls of one turn, are delivered in the order of sending', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  for (const name of ['a', 'b', 'c']) await t.mill.in(held).send(mails, name, { key: 'k' })
  await held.query('commit')
  await Promise.all(['d', 'e', 'f'].map((name) => t.mill.send(mails, name, { key: 'k' })))
  const { names } = await noting(t)
  await until(() => names.length === 6)
  expect(names.join('')).toBe('abcdef')
})

test('B1: a rollback delivers nothing, a savepoint that is rolled back neither', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).send(mails, 'rolled back', { key: 'k' })
  await held.query('rollback')
  await held.query('begin')
  await t.mill.in(held).send(mails, 'before', { key: 'k' })
  await held.query('savepoint s')
  await t.mill.in(held).send(mails, 'to the savepoint', { key: 'k' })
  await held.query('rollback to s')
  await t.mill.in(held).send(mails, 'after', { key: 'k' })
  await held.query('commit')
  const { names } = await noting(t)
  await until(async () => (await places(t.sql, t.schema)).finished === 2)
  expect(names).toEqual(['before', 'after'])
})

test('B1: a transaction that stays open delays nobody, in its own key neither', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  await t.mill.in(held).send(mails, 'open', { key: 'k' })
  const { names } = await noting(t)
  await t.mill.send(mails, 'one', { key: 'k' })
  await t.mill.send(mails, 'two', { key: 'k' })
  await until(() => names.length === 2)
  await held.query('commit')
  await until(() => names.length === 3)
  expect(names).toEqual(['one', 'two', 'open'])
})

test('B1: one message of a key at a time, messages of other keys beside it', async () => {
  await using t = await setup()
  const runs = gate()
  await using worker = t.mill.worker().deliver(mails, (name) => runs.enter(name))
  await worker.start()
  for (const name of ['a1', 'a2', 'b1', 'b2']) {
    await t.mill.send(mails, name, { key: name.slice(0, 1) })
  }
  await until(() => runs.now === 2)
  expect(runs.names.toSorted()).toEqual(['a1', 'b1'])
  runs.open()
  await until(() => runs.names.length === 4)
  expect(runs.most).toBe(2)
})

test('B1: a message that fails keeps its place: nothing of its key overtakes it', async () => {
  await using t = await manualSetup()
  const tries: string[] = []
  await using worker = t.mill.worker().deliver(mails, (name, { failures }) => {
    tries.push(`${name} ${failures}`)
    if (name === 'bad' && failures < 2) throw new RetryIn('5s', 'not yet')
  })
  await worker.start()
  await t.mill.send(mails, 'bad', { key: 'k' })
  await t.mill.send(mails, 'good', { key: 'k' })
  await t.mill.send(mails, 'elsewhere', { key: 'other' })
  await until(async () => {
    t.clock.advance(500)
    return (await places(t.sql, t.schema)).finished === 3
  })
  expect(tries.filter((each) => !each.startsWith('elsewhere'))).toEqual([
    'bad 0',
    'bad 1',
    'bad 2',
    'good 0',
  ])
})

test('B1: a delayed message keeps its place, and those behind it wait for it', async () => {
  await using t = await manualSetup()
  const { names } = await noting(t)
  await t.mill.send(mails, 'first', { key: 'k' })
  const { id } = await t.mill.send(mails, 'delayed', { key: 'k', delay: '1m' })
  await t.mill.send(mails, 'behind', { key: 'k' })
  await until(() => names.length === 1)
  // It is its turn, and it is due in a minute.
  await until(async () => (await t.mill.jobs.explain(id)).reasons[0]?.code === 'not-due')
  t.clock.advance(59_000)
  const [reason] = (await t.mill.jobs.explain(id)).reasons
  expect(reason).toMatchObject({ code: 'not-due', because: 'scheduled' })
  expect(names).toEqual(['first'])
  await until(() => {
    t.clock.advance(500)
    return names.length === 3
  })
  expect(names).toEqual(['first', 'delayed', 'behind'])
})

test('B1: without a key messages are plain jobs, and are delivered beside each other', async () => {
  await using t = await setup()
  const runs = gate()
  const deliveries: Delivery[] = []
  await using worker = t.mill.worker().deliver(mails, (name, delivery) => {
    deliveries.push(delivery)
    return runs.enter(name)
  })
  await worker.start()
  const sent = await Promise.all(['a', 'b', 'c'].map((name) => t.mill.send(mails, name)))
  await until(() => runs.now === 3)
  expect(deliveries.map(({ id }) => id).toSorted()).toEqual(sent.map(({ id }) => id).toSorted())
  expect(deliveries.map(({ key }) => key)).toEqual([null, null, null])
  runs.open()
  expect((await t.sql.query('select from outbox_line')).rows).toEqual([])
})
