import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations, open } from 'millrace'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'

let database: FreshDatabase
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase()
})

afterAll(() => database.drop())

/** A schema with tables, and the command that works on it. */
async function setup() {
  schemas += 1
  const schema = `cli_${schemas}`
  await using tables = migrations(database.url, { schema })
  await tables.up()
  const run = (words: readonly string[], input?: string) =>
    millrace([...words, '-d', database.url, '-s', schema], { input })
  return { run, schema }
}

const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

test('enqueue asks for a job by the name of its kind, with options', async () => {
  const { run, schema } = await setup()
  const options = ['--id', id, '--queue', 'mail', '--priority', 'high', '--delay', '1h']
  const limits = ['--failures', '3', '--timeout', '5m', '--expires', '2h']

  const asked = await run(['enqueue', 'welcome', '{"to":"ada"}', ...options, ...limits])
  const again = await run(['enqueue', 'welcome', '{"to":"ada"}', ...options, ...limits])

  expect(asked).toEqual({ code: 0, out: `${id} inserted\n`, err: '' })
  expect(again.out).toBe(`${id} kept\n`)
  await using mill = await open(database.url, { schema })
  expect(await mill.jobs.get(id)).toMatchObject({
    kind: 'welcome',
    queue: 'mail',
    priority: 2,
    failureLimit: 3,
    input: { to: 'ada' },
    state: 'pending',
    waiting: 'scheduled',
    expiresAt: expect.any(Date),
  })
})

test('enqueue reads its input from standard input, and answers JSON when asked', async () => {
  const { run } = await setup()

  const { out } = await run(['enqueue', 'welcome', '-', '--json'], '{"to":"bob"}')

  const asked = JSON.parse(out)
  expect(asked).toMatchObject({ outcome: 'inserted' })
  const shown = await run(['jobs', 'show', asked.id, '--json'])
  expect(JSON.parse(shown.out)).toMatchObject({ id: asked.id, input: { to: 'bob' } })
})

test.each([
  [['enqueue', 'welcome', '{'], 'is not JSON'],
  [['enqueue', 'a', '{"x":["9007199254740993",9007199254740993]}'], 'lose digits'],
  [['enqueue', ' '], 'cannot be a kind'],
  [['enqueue', 'a', '1', '--priority', '10'], '0 (first) to 9'],
  [['enqueue', 'a', '1', '--delay', 'soon'], 'soon'],
  [['enqueue', 'a', '1', '--at', 'tomorrow'], 'ISO instant'],
  [['enqueue', 'a', '1', '--at', '2030-01-01T00:00'], 'ISO instant'],
  [['enqueue', 'a', '1', '--at', '2030-01-01', '--delay', '1s'], 'cannot be used with'],
  [['enqueue', 'a', '1', '--failures', 'x'], 'whole number'],
  [['jobs', 'list', '--limit', '0'], 'at least 1'],
  [['jobs', 'list', '--state', 'done'], 'pending, running'],
])('what cannot be is refused with exit code 2: %j', async (words, why) => {
  const { run } = await setup()

  const { code, out, err } = await run(words)

  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(why)
})

test('list shows a table of what matches, and where to go on', async () => {
  const { run } = await setup()
  for (const kind of ['one', 'two', 'three']) await run(['enqueue', kind, '1'])

  const first = await run(['jobs', 'list', '--limit', '2'])
  const cursor = /--cursor (\S+)/.exec(first.err)?.[1] ?? ''
  const second = await run(['jobs', 'list', '--limit', '2', '--cursor', cursor])
  const some = await run([
    'jobs',
    'list',
    '--kind',
    'two',
    'three',
    '--oldest',
    '--state',
    'pending',
  ])
  const none = await run(['jobs', 'list', '--kind', 'four'])

  expect(kindsOf(first.out)).toEqual(['kind', 'three', 'two'])
  expect(kindsOf(second.out)).toEqual(['kind', 'one'])
  expect(second.err).toBe('')
  expect(kindsOf(some.out)).toEqual(['kind', 'two', 'three'])
  expect(none).toMatchObject({ code: 0, out: 'no jobs\n' })
})

test('list --json is one line for each record, and --all is everything', async () => {
  const { run, schema } = await setup()
  await using mill = await open(database.url, { schema })
  const { defineJob, typed } = await import('millrace')
  const numbers = Array.from({ length: 230 }, (_each, index) => index)
  await mill.enqueueMany(defineJob('count', { input: typed<number>() }), numbers)

  const page = await run(['jobs', 'list', '--json', '--limit', '7'])
  const all = await run(['jobs', 'list', '--json', '--all', '--oldest'])

  expect(page.out.trimEnd().split('\n')).toHaveLength(7)
  expect(
    all.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).input),
  ).toEqual(numbers)
})

test('show and journal of a job that is not there exit 1', async () => {
  const { run } = await setup()

  const text = await run(['jobs', 'show', id])
  expect(text).toMatchObject({ code: 1, out: expect.stringContaining(`no job ${id}`) })
  expect(await run(['jobs', 'show', id, '--json'])).toMatchObject({ code: 1, out: 'null\n' })
  expect(await run(['jobs', 'journal', id])).toMatchObject({ code: 1 })
})

test('what others wrote cannot move the cursor of who reads it', async () => {
  const { run } = await setup()
  await run(['enqueue', 'red\u001b[31m', '"a\\nb"'])

  const { out } = await run(['jobs', 'list'])

  expect(out).toContain('red\\u001b[31m')
  expect(out).not.toContain('\u001b')
})

/** The second column of a table. */
function kindsOf(out: string): readonly (string | undefined)[] {
  const lines = out.trimEnd().split('\n')
  return lines.map((line) => line.split(/ {2,}/)[1])
}
