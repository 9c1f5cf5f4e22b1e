import { expect, test } from 'vitest'
import { shownUrl } from '../../src/cli/server-url.ts'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'

// Port 1 refuses at once; the others are refused before anything is opened.
const DATABASES = [
  'postgres://user:geheim@127.0.0.1:1/app',
  'postgres://127.0.0.1:1/app?user=user&password=geheim',
  'postgres://user:ge/heim@127.0.0.1:1/app',
  'mysql://user:ge/heim@host/app',
  'user:geheim@host/app',
  'host=host user=user password=geheim',
]

const COMMANDS = ['jobs list', 'migrate status', 'migrate up', 'verify', 'bench']

test.each(COMMANDS)(
  '%s %s prints no password of a database that it cannot open',
  async (...words) => {
    const command = words.filter((word) => typeof word === 'string')
    const runs = DATABASES.flatMap((database) => [
      millrace([...command, '--database', database]),
      millrace([...command, '--json'], { env: { DATABASE_URL: database } }),
    ])
    for (const { code, out, err } of await Promise.all(runs)) {
      expect(code).toBeGreaterThan(0)
      expect(out + err).not.toMatch(/ge\/?heim/)
      expect(err).not.toBe('')
    }
  },
)

// It takes no server but one that it is told of in so many words.
test('demo prints no password of a database that it cannot open', async () => {
  const runs = DATABASES.map((database) => millrace(['demo', '--database', database]))
  for (const { code, out, err } of await Promise.all(runs)) {
    expect(code).toBeGreaterThan(0)
    expect(out + err).not.toMatch(/ge\/?heim/)
  }
})

test('a URL is shown without its password, wherever it stands in it', () => {
  const url = new URL('postgres://user:geheim@h/app?password=geheim&sslpassword=geheim&x=1')
  expect(shownUrl(url)).toEqual({ href: 'postgres://user@h/app?x=1', hasSecrets: true })
  const clean = 'postgres://user@h/app?x=1'
  expect(shownUrl(new URL(clean))).toEqual({ href: clean, hasSecrets: false })
  expect(url.password).toBe('geheim')
})

test('--json escapes what would move the cursor of a terminal, and is the same JSON', async () => {
  await using database = await freshDatabase()
  const run = (words: readonly string[]) => millrace([...words, '-d', database.url])
  await run(['migrate', 'up'])
  const kind = 'C1 \u009B31m and \u202E turned'
  await run(['enqueue', kind, '{"text":"\u009B"}'])
  const { out } = await run(['jobs', 'list', '--json'])
  expect(out).not.toMatch(/[\u0080-\u009F\u202E]/)
  expect(JSON.parse(out.trim().split('\n')[0] ?? '')).toMatchObject({
    kind,
    input: { text: '\u009B' },
  })
})
