import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from 'millrace'
import { millrace, moduleFolder, startMillrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

let database: FreshDatabase

beforeAll(async () => {
  database = await freshDatabase()
  await using tables = migrations(database.url)
  await tables.up()
})

afterAll(() => database.drop())

const run = (words: readonly string[]) => millrace([...words, '-d', database.url])

test('work runs the handlers of a module until SIGTERM, then drains and exits 0', async () => {
  await using folder = await moduleFolder({
    'handlers.mjs': `
      import { defineHandlers, defineJob, typed } from 'millrace'
      const flaky = defineJob('flaky', { input: typed(), result: typed(), retry: { failures: 3, backoff: { type: 'fixed', base: '10ms' } } })
      export const handlers = defineHandlers().handle(flaky, (input, run) => {
        if (run.number === 1) throw new Error('the first run fails')
        run.note('the second does not')
        return { twice: input.n * 2 }
      })
      export const options = { concurrency: 2 }
    `,
  })
  const { out } = await run(['enqueue', 'flaky', '{"n":21}'])
  const [id = ''] = out.split(' ')

  const worker = startMillrace(['work', folder.path('handlers.mjs'), '-d', database.url])
  const ended = new Promise((resolve) => worker.on('close', resolve))
  const job = await until(async () => {
    const shown = await run(['jobs', 'show', id, '--json'])
    const found = JSON.parse(shown.out)
    return found.state === 'completed' ? found : undefined
  })
  worker.kill('SIGTERM')

  expect(await ended).toBe(0)
  expect(job).toMatchObject({ run: 2, failures: 1, result: { twice: 42 } })
  const journal = await run(['jobs', 'journal', id])
  expect(journal.out).toMatch(/1 +retried .*the first run fails/)
  expect(journal.out).toMatch(/2 +completed .*the second does not/)
  const entries = await run(['jobs', 'journal', id, '--json'])
  expect(
    entries.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).outcome),
  ).toEqual(['retried', 'completed'])
  const shown = await run(['jobs', 'show', id])
  expect(shown.out).toMatch(/^state +completed$/m)
  expect(shown.out).toMatch(/^result +\{"twice":42\}$/m)
})

test('a module may export a function that gets the client', async () => {
  await using folder = await moduleFolder({
    'handlers.mjs': `
      import { defineHandlers, defineJob, typed } from 'millrace'
      export default async (mill) => {
        const [first, second] = ['chain-first', 'chain-second'].map((name) => defineJob(name, { input: typed() }))
        return defineHandlers()
          .handle(first, async () => void (await mill.enqueue(second, 1)))
          .handle(second, () => undefined)
      }
    `,
  })
  await run(['enqueue', 'chain-first', '1'])

  const worker = startMillrace(['work', folder.path('handlers.mjs'), '-d', database.url])
  const ended = new Promise((resolve) => worker.on('close', resolve))
  const words = ['jobs', 'list', '--kind', 'chain-second', '--state', 'completed']
  await until(async () => (await run(words)).out.includes('chain-second'))
  worker.kill('SIGINT')

  expect(await ended).toBe(0)
})

test.each([
  ['export const nothing = 1', 'it exports no handlers'],
  ['export const a = () => 1; export const b = () => 2', 'it exports no handlers'],
  ['export const handlers = () => 1', 'its function answers no handlers'],
  [
    "import { defineHandlers } from 'millrace'; export const a = defineHandlers(); export const options = 1",
    '"options" is not an object',
  ],
])('a module without handlers is refused with the lines to write: %s', async (source, why) => {
  await using folder = await moduleFolder({ 'handlers.mjs': source })

  const { code, err } = await run(['work', folder.path('handlers.mjs')])

  expect(code).toBe(2)
  expect(err).toContain(why)
  expect(err).toContain(
    'export const mail = defineHandlers().handle(welcome, async (input, run) => { … })',
  )
})

test('a module that is not there, and one that throws', async () => {
  await using folder = await moduleFolder({
    'throws.mjs': "throw new Error('no mail server')",
    'lacks.mjs': "import './not-here.mjs'",
  })

  const absent = await run(['work', folder.path('absent.mjs')])
  const throwing = await run(['work', folder.path('throws.mjs')])
  const lacking = await run(['work', folder.path('lacks.mjs')])

  expect(absent).toMatchObject({ code: 2, err: expect.stringContaining('no such file') })
  expect(throwing).toMatchObject({ code: 4, err: expect.stringContaining('no mail server') })
  expect(lacking).toMatchObject({ code: 4, err: expect.stringContaining('not-here.mjs') })
})

// From 22.18 on Node runs it by itself.
const runsTypescript = 'typescript' in process.features && process.features.typescript !== false

test.skipIf(runsTypescript)('TypeScript on a Node that cannot run it: how to', async () => {
  await using folder = await moduleFolder({ 'handlers.ts': 'export const a: number = 1' })

  expect(await run(['work', folder.path('handlers.ts')])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--import tsx'),
  })
})
