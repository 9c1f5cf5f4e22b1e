import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineOutbox, open, typed } from '../../src/index.ts'
import type { Mill } from '../../src/index.ts'
import { startPglite } from '../support/pglite.ts'
import { until } from '../support/until.ts'

let instance: PGlite
let mill: Mill

beforeAll(async () => {
  instance = await startPglite()
  mill = await open(instance, { migrate: 'auto', logger: false })
}, 120_000)

afterAll(async () => {
  await mill.close()
  await instance.close()
}, 120_000)

test('B1: on an embedded database messages are delivered in order per key too, in transactions as well', async () => {
  const names: string[] = []
  const mails = defineOutbox('mails', { message: typed<string>(), key: (name) => name.slice(0, 1) })
  await mill
    .worker()
    .deliver(mails, (name, { failures }) => {
      if (name === 'a2' && failures === 0) throw new Error('not this time')
      names.push(name)
    })
    .start()
  await mill.send(mails, 'a1')
  await instance.transaction(async (tx) => {
    await mill.in(tx).send(mails, 'a2')
    await mill.in(tx).send(mails, 'b1')
    await mill.in(tx).send(mails, 'a3')
  })
  await until(() => names.length === 4)
  expect(names.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
  expect(names).toContain('b1')
})
