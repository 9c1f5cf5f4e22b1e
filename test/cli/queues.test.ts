import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, migrations, open } from 'millrace'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'

let database: FreshDatabase
let schemas = 0
const visit = defineJob('visit', { queue: 'mail' })

beforeAll(async () => {
  database = await freshDatabase()
})

afterAll(() => database.drop())

async function setup() {
  schemas += 1
  const schema = `cli_queues_${schemas}`
  await using tables = migrations(database.url, { schema })
  await tables.up()
  const run = (words: readonly string[]) => millrace([...words, '-d', database.url, '-s', schema])
  return { run, schema }
}

test('queues pause and resume say what came of it, and list shows it', async () => {
  const { run, schema } = await setup()
  expect(await run(['queues', 'list'])).toEqual({ code: 0, out: 'no queues\n', err: '' })
  await using mill = await open(database.url, { schema })
  await mill.enqueue(visit)

  expect(await run(['queues', 'pause', 'mail'])).toEqual({ code: 0, out: 'mail paused\n', err: '' })
  const { out } = await run(['queues', 'list'])
  expect(out).toMatch(/^queue +state +paused since\nmail +paused +\d{4}-/)
  const json = await run(['queues', 'list', '--json'])
  expect(JSON.parse(json.out)).toEqual({
    queue: 'mail',
    paused: true,
    pausedSince: expect.any(String),
  })
  expect((await run(['queues', 'resume', 'mail'])).out).toBe('mail open\n')
  const resumed = await run(['queues', 'resume', 'mail', '--json'])
  expect(JSON.parse(resumed.out)).toMatchObject({ queue: 'mail', paused: false })
})

test('queues set gives jobs without options of their own their options, and takes them away', async () => {
  const { run, schema } = await setup()
  const words = ['queues', 'set', 'mail', '--priority', 'low', '--failures', '3', '--lease', '5m']
  const { code, out } = await run([...words, '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toEqual({
    queue: 'mail',
    defaults: { priority: 'low', retry: { failures: 3 }, lease: 300_000 },
  })
  await using mill = await open(database.url, { schema })
  const { id } = await mill.enqueue(visit)
  expect(await mill.jobs.get(id)).toMatchObject({ priority: 8, failureLimit: 3 })
  expect((await run(['queues', 'set', 'mail'])).out).toBe('mail no defaults\n')
})

test('a bad value is a misuse, told before anything is opened', async () => {
  const { run } = await setup()
  const bad = await run(['queues', 'set', 'mail', '--priority', '10'])
  expect(bad).toMatchObject({ code: 2, err: expect.stringContaining('--priority') })
  expect((await run(['queues', 'pause', ' '])).code).toBe(2)
  expect((await run(['queues', 'set', 'mail', '--failures', '0'])).code).toBe(2)
})
