import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineOutbox } from '../../src/outbox/outbox.ts'
import { GiveUp } from '../../src/worker/verdict.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import type { Setup, SetupOptions } from '../support/mill.ts'
import { until } from '../support/until.ts'

const message = typed<string>()
const going = defineOutbox('going', { message, key: () => 'k' })
const halting = defineOutbox('halting', { message, key: () => 'k', onDead: 'halt' })

interface Bench extends Setup {
  readonly names: string[]
  /** Messages that are refused. */
  readonly refused: Set<string>
  readonly ids: Map<string, string>
}

/** A worker of both outboxes that notes what it delivered, and refuses some for good. */
async function bench(options: SetupOptions = {}): Promise<Bench> {
  const t = await setup(options)
  const names: string[] = []
  const refused = new Set<string>()
  const deliver = (name: string): void => {
    if (refused.has(name)) throw new GiveUp(`${name} is refused`)
    names.push(name)
  }
  const worker = t.mill.worker().deliver(going, deliver).deliver(halting, deliver)
  await worker.start()
  return { ...t, names, refused, ids: new Map() }
}

async function send(t: Bench, outbox: typeof going | typeof halting, names: string): Promise<void> {
  const held = await t.session()
  await held.query('begin')
  for (const name of names) {
    const { id } = await t.mill.in(held).send(outbox, name)
    t.ids.set(name, id)
  }
  await held.query('commit')
}

test('B1: a key goes on behind a dead message; redriven, it comes back in front of its key', async () => {
  await using t = await bench()
  t.refused.add('a').add('c')
  await send(t, going, 'abcd')
  await until(() => t.names.length === 2)
  expect(t.names.join('')).toBe('bd')
  // Behind one that waits for an hour: what is redriven now must come before those behind it.
  const { id: e } = await t.mill.send(going, 'e', { delay: '1h' })
  await t.mill.send(going, 'f')
  t.refused.clear()
  const dead = ['c', 'a'].map((name) => t.ids.get(name) ?? '')
  for (const id of dead) await t.mill.jobs.retry(id)
  await t.mill.jobs.cancel(e)
  await until(() => t.names.length === 5)
  expect(t.names.join('')).toBe('bdacf')
  await until(async () => (await places(t.sql, t.schema)).finished === 6)
  await assertOnePlace(t.sql, t.schema)
})

test('B1: with onDead halt the key stops, others go on, and explain says so', async () => {
  await using t = await bench()
  t.refused.add('b')
  await send(t, halting, 'abcd')
  const [halted] = await until(async () => {
    const all = await t.mill.outboxes.halted(halting)
    return all.length > 0 && all
  })
  const id = t.ids.get('b') ?? ''
  expect(halted).toMatchObject({ outbox: 'halting', key: 'k', id, waiting: 2 })
  await t.mill.send(halting, 'x', { key: 'other' })
  await until(() => t.names.includes('x'))
  expect(t.names).toEqual(['a', 'x'])
  const report = await t.mill.jobs.explain(t.ids.get('c') ?? '')
  expect(report.reasons[0]).toEqual({ code: 'key-halted', dedupKey: 'k', by: id })
  expect(report.summary).toContain('mill.outboxes.skip()')
})

test('B1: a halted key goes on with the dead message where that is redriven', async () => {
  await using t = await bench()
  t.refused.add('b')
  await send(t, halting, 'abcd')
  await until(async () => (await t.mill.outboxes.halted()).length === 1)
  t.refused.clear()
  await t.mill.jobs.retry({ kind: 'halting', state: 'dead' })
  await until(() => t.names.length === 4)
  expect(t.names.join('')).toBe('abcd')
  expect(await t.mill.outboxes.halted()).toEqual([])
})

test('B1: a halted key that is skipped goes on without it; redriven later it comes back first', async () => {
  await using t = await bench()
  t.refused.add('b').add('d')
  await send(t, halting, 'abcde')
  await until(async () => (await t.mill.outboxes.halted()).length === 1)
  expect(await t.mill.outboxes.skip('halting', 'k')).toEqual({ id: t.ids.get('b') })
  await until(async () => (await t.mill.outboxes.halted())[0]?.id === t.ids.get('d'))
  expect(t.names.join('')).toBe('ac')
  t.refused.clear()
  await t.mill.jobs.retry(t.ids.get('b') ?? '')
  await t.mill.jobs.retry(t.ids.get('d') ?? '')
  await until(() => t.names.length === 5)
  expect(t.names.join('')).toBe('acbde')
  expect(await t.mill.outboxes.skip(halting, 'k')).toBeNull()
})

test('B1: cleanup of the dead message lets a halted key go on, within a second', async () => {
  await using t = await bench()
  t.refused.add('a')
  await send(t, halting, 'ab')
  await until(async () => (await t.mill.outboxes.halted()).length === 1)
  await t.mill.jobs.cleanup({ finishedBefore: 0, state: 'dead' })
  await until(() => t.names.length === 1)
  expect(t.names).toEqual(['b'])
  await until(async () => (await t.sql.query('select from outbox_line')).rows.length === 0)
})

test('B1: a message that was cancelled does not halt its key', async () => {
  await using t = await bench()
  const { id } = await t.mill.send(halting, 'a', { delay: '1h' })
  await t.mill.send(halting, 'b')
  await until(async () => (await t.sql.query('select from outbox_heads')).rows.length === 1)
  await t.mill.jobs.cancel(id)
  await until(() => t.names.length === 1)
  expect(t.names).toEqual(['b'])
})
