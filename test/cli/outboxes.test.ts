import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineOutbox, GiveUp, migrations, open, typed } from 'millrace'
import type { Mill } from 'millrace'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'

const schema = 'cli_outboxes'
let database: FreshDatabase
let mill: Mill

beforeAll(async () => {
  database = await freshDatabase()
  await using tables = migrations(database.url, { schema })
  await tables.up()
  mill = await open(database.url, { schema, logger: false })
})

afterAll(async () => {
  await mill.close()
  await database.drop()
})

const run = (...words: readonly string[]) => millrace([...words, '-d', database.url, '-s', schema])

test('B1: outboxes halted lists keys that a dead message halts, and skip lets one go on', async () => {
  const message = typed<string>()
  const hooks = defineOutbox('hooks', { message, key: () => 'order 7', onDead: 'halt' })
  expect(await run('outboxes', 'halted')).toMatchObject({ code: 0, out: 'no halted keys\n' })
  const { id } = await mill.send(hooks, 'refused')
  const next = await mill.send(hooks, 'next')
  const worker = mill.worker().deliver(hooks, (text) => {
    if (text === 'refused') throw new GiveUp('nobody takes it')
  })
  await worker.start()
  await mill.jobs.wait(id)

  const { out } = await run('outboxes', 'halted', 'hooks')
  expect(out).toMatch(/^outbox +key +dead message +since +waiting\nhooks +order 7 +/)
  const json = await run('outboxes', 'halted', '--json')
  expect(JSON.parse(json.out)).toMatchObject({ outbox: 'hooks', key: 'order 7', id, waiting: 1 })
  expect(await run('outboxes', 'skip', 'hooks', 'order 7')).toMatchObject({
    code: 0,
    out: `key order 7 goes on without ${id}\n`,
  })
  expect(await mill.jobs.wait(next.id)).toMatchObject({ state: 'completed' })
  const again = await run('outboxes', 'skip', 'hooks', 'order 7', '--json')
  expect(again).toMatchObject({ code: 1, err: '' })
  expect(JSON.parse(again.out)).toEqual({ outbox: 'hooks', key: 'order 7', skipped: null })
  expect((await run('jobs', 'list', '--kind', 'hooks', '--state', 'dead')).out).toContain(id)
})
