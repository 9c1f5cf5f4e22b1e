import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { millrace, startMillrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'

const nowhere = ['--database', 'postgres://nobody@localhost:1/none']

test.each<readonly [what: string, words: readonly string[], code: number, text: RegExp]>([
  ['help is asked for', ['--help'], 0, /Usage: millrace/],
  ['the version is asked for', ['--version'], 0, /^\d+\.\d+\.\d+/],
  ['a command is missing', [], 2, /Usage: millrace/],
  ['a subcommand is missing', ['migrate'], 2, /Usage: millrace migrate/],
  ['a command is unknown', ['frob'], 2, /unknown command 'frob'/],
  ['a command is mistyped', ['migrat'], 2, /Did you mean migrate\?/],
  ['an option is unknown', ['migrate', 'up', '--frob'], 2, /unknown option '--frob'/],
  ['an argument is missing', ['jobs', 'show'], 2, /missing required argument 'id'/],
  ['no database is named', ['jobs', 'list'], 2, /set DATABASE_URL/],
  ['a database is none', ['jobs', 'list', '-d', 'frob'], 2, /did you mean ".\/frob"/],
  ['a schema is none', ['migrate', 'status', '-s', 'pg_x', ...nowhere], 2, /INVALID_NAME: "pg_x"/],
  ['a state is none', ['jobs', 'list', '--state', 'done', ...nowhere], 2, /pending, running/],
  ['nothing answers', ['migrate', 'status', ...nowhere], 3, /^DATABASE: connecting .*ECONNREFUSED/],
])('exit code: %s', async (_what, words, code, text) => {
  const result = await millrace(words)

  expect(result.code).toBe(code)
  expect(code === 0 ? result.out : result.err).toMatch(text)
  expect(code === 0 ? result.err : result.out).toBe('')
})

test.each<readonly [what: string, words: readonly string[], code: number, error: string]>([
  ['a usage error', ['migrate', 'up', '--frob'], 2, 'USAGE'],
  ['a missing command', ['migrate'], 2, 'USAGE'],
  ['a bad option', ['jobs', 'list'], 2, 'INVALID_OPTION'],
  ['an unreachable database', ['migrate', 'up', ...nowhere], 3, 'DATABASE'],
])('with --json %s is one document on standard error', async (_what, words, code, error) => {
  const result = await millrace([...words, '--json'])

  expect(result.code).toBe(code)
  expect(result.out).toBe('')
  expect(JSON.parse(result.err)).toEqual({ error: { code: error, message: expect.any(String) } })
})

test('a database that lets nobody in, or that does not exist, is unreachable too', async () => {
  await using database = await freshDatabase()
  const url = new URL(database.url)
  url.pathname = '/no_such_database'

  expect(await millrace(['migrate', 'status', '-d', url.href])).toMatchObject({
    code: 3,
    err: expect.stringContaining('3D000'),
  })
})

test('a database without tables is a no, and the message is the one that open() gives', async () => {
  await using database = await freshDatabase()

  const { code, err } = await millrace(['jobs', 'list', '-d', database.url])

  expect(code).toBe(1)
  expect(err).toMatch(/^NOT_MIGRATED: .* Run: npx millrace migrate up\n$/)
})

test('the version is the one of package.json', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

  expect((await millrace(['--version'])).out).toBe(`${manifest.version}\n`)
})

test('colour only where it is wanted', async () => {
  const escape = '\u001b['
  const words = ['migrate', 'status', ...nowhere]

  expect((await millrace(words, { env: { FORCE_COLOR: '1' } })).err).toContain(escape)
  expect((await millrace(words, { env: { CI: '1' } })).err).not.toContain(escape)
  const env = { FORCE_COLOR: '1', NO_COLOR: '1' }
  expect((await millrace(words, { env })).err).not.toContain(escape)
})

test('a reader that stops reading is no failure', async () => {
  const child = startMillrace(['--help'])
  child.stdout.destroy()

  const code = await new Promise((resolve) => child.on('close', resolve))

  expect(code).toBe(0)
})
