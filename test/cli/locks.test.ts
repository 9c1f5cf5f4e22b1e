import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations, open } from 'millrace'
import type { Mill } from 'millrace'
import { millrace, startMillrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const schema = 'cli_locks'
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

const run = (words: readonly string[], input?: string) =>
  millrace([...words, '-d', database.url, '-s', schema], { input })

test('K1: locks list shows who holds what, and release takes it from him', async () => {
  expect(await run(['locks', 'list'])).toEqual({ code: 0, out: 'no locks\n', err: '' })
  const lock = await mill.tryLock('a b', { ttl: '10m' })
  const { out } = await run(['locks', 'list'])
  expect(out).toMatch(/^lock +owner +token +since +until +waiting\na b +\S+:\d+ +\d{16} +/)
  const json = await run(['locks', 'list', '--json'])
  expect(JSON.parse(json.out)).toMatchObject({ name: 'a b', token: lock?.token, waiting: 0 })
  expect((await run(['locks', 'list', '--after', 'a b'])).out).toBe('no locks\n')

  expect(await run(['locks', 'release', 'a b'])).toMatchObject({ code: 0, out: 'a b released\n' })
  const again = await run(['locks', 'release', 'a b', '--json'])
  expect(again).toMatchObject({ code: 1, err: '' })
  expect(JSON.parse(again.out)).toEqual({ name: 'a b', released: false })
  expect(await lock?.renew()).toBe(false)
})

test('N1: notify is heard by listen, for people and for programs', async () => {
  const place = ['-d', database.url, '-s', schema]
  const child = startMillrace(['listen', 'prices', '--json', '--count', '3', ...place])
  const people = startMillrace(['listen', 'prices', ...place])
  let out = ''
  let text = ''
  let remarks = ''
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  people.stdout.on('data', (data: Buffer) => (text += data.toString()))
  people.stderr.on('data', (data: Buffer) => (remarks += data.toString()))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const stopped = new Promise<number | null>((resolve) => people.on('close', resolve))
  await until(() => remarks.includes('listening on prices'))
  // The other prints nothing but what it hears: it is there when it has heard something.
  await until(
    async () => {
      await mill.notify('prices', 'first')
      return out !== ''
    },
    { every: 200 },
  )
  expect((await run(['notify', 'prices', '{"id":7}'])).out).toBe('said on prices\n')
  expect((await run(['notify', 'prices', '-', '--json'], 'a\u001bb')).code).toBe(0)
  expect((await run(['notify', 'prices', 'x'])).code).toBe(0)
  expect(await ended).toBe(0)
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toHaveLength(3)
  expect(lines[0]).toEqual({ type: 'message', payload: 'first' })
  await until(() => text.includes('\nx\n'))
  expect(text).toContain('{"id":7}\na\\u001bb\nx\n')
  people.kill('SIGINT')
  expect(await stopped).toBe(0)
})

test.each<readonly [what: string, words: readonly string[], text: string]>([
  ['a payload too long', ['notify', 'prices', 'x'.repeat(8_000)], 'PAYLOAD_TOO_LARGE'],
  ['a blank channel', ['notify', ' '], 'INVALID_NAME'],
  ['a reserved channel', ['listen', 'millrace.own'], 'INVALID_NAME'],
  ['no messages at all', ['listen', 'prices', '--count', '0'], '--count'],
  ['an empty name', ['locks', 'release', ''], 'INVALID_NAME'],
  ['too many locks', ['locks', 'list', '--limit', '2000'], 'up to 1000'],
])('%s is a misuse, and ends with 2', async (_what, words, text) => {
  const result = await run(words)
  expect(result.code).toBe(2)
  expect(result.err).toContain(text)
})
