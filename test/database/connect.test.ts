import { Client, type ClientConfig, Pool } from 'pg'
import postgres from 'postgres'
import { afterEach, expect, test } from 'vitest'
import { engineFor } from '../../src/database/connect.ts'
import { InvalidOptionError } from '../../src/errors.ts'
import { freshDatabase } from '../support/database.ts'
import { startPglite } from '../support/pglite.ts'

const VARIABLE = 'MILLRACE_TEST_DATABASE'

afterEach(() => {
  delete process.env[VARIABLE]
})

/** What a caller without types may pass. */
async function refusal(...given: readonly unknown[]): Promise<InvalidOptionError> {
  const error: unknown = await Reflect.apply(engineFor, undefined, given).then(
    () => new Error('it was accepted'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(InvalidOptionError)
  if (!(error instanceof InvalidOptionError)) throw error
  return error
}

test.each([
  'postgres://localhost/app',
  'postgresql://u:p@h:5432/app',
  'POSTGRES://h/db',
  'postgres://a:1,b:2/db',
])('%s is a server', async (url) => {
  expect(await engineFor(url)).toMatchObject({ driver: 'node-postgres', isSingleConnection: false })
})

test.each([
  'memory:',
  './mydb',
  '../mydb',
  '/var/lib/app',
  'file:mydb',
  'file:./mydb',
  'file:///var/lib/app',
])('%s is embedded', async (text) => {
  expect(await engineFor(text)).toMatchObject({ driver: 'pglite', isSingleConnection: true })
})

test('open() alone is embedded, open(undefined) is an error', async () => {
  expect(await engineFor()).toMatchObject({ driver: 'pglite' })
  const error = await refusal(undefined)
  expect(error.message).toContain('open(undefined) is a mistake')
})

test('trap 6: a text that is neither is an error, never a directory of that name', async () => {
  expect((await refusal('mydb')).message).toContain('did you mean "./mydb"?')
  for (const text of [
    'mydb',
    '',
    ' ',
    'mysql://h/db',
    'postgres',
    'postgres:/h',
    '~/db',
    'C:\\db',
    'memory',
    'file:',
  ]) {
    await refusal(text)
  }
})

test('a password is never quoted', async () => {
  for (const url of [
    'mysql://app:geheim@h/db',
    'postgre://app:ge@heim@h/db',
    'pg://h/db?password=geheim',
  ]) {
    const error = await refusal(url)
    expect(error.message).not.toContain('heim')
    expect(JSON.stringify(error.value)).not.toContain('heim')
  }
})

test('{ env } reads the variable at the call and trims it', async () => {
  process.env[VARIABLE] = '  memory: \n'
  expect(await engineFor({ env: VARIABLE })).toMatchObject({ driver: 'pglite' })
  process.env[VARIABLE] = 'postgres://localhost/app'
  expect(await engineFor({ env: VARIABLE })).toMatchObject({ driver: 'node-postgres' })
})

test('{ env } names the variable when it is unset, empty or nonsense', async () => {
  expect((await refusal({ env: VARIABLE })).message).toContain(`${VARIABLE} is not set`)
  process.env[VARIABLE] = ' \t'
  expect((await refusal({ env: VARIABLE })).message).toContain(`${VARIABLE} is empty`)
  process.env[VARIABLE] = 'mydb'
  expect((await refusal({ env: VARIABLE })).option).toBe(VARIABLE)
})

test('a pool, a postgres.js sql and a PGlite are told apart, and used for their configuration only', async () => {
  await using database = await freshDatabase()
  const url = new URL(database.url)
  const login = {
    host: url.hostname,
    port: Number(url.port),
    user: 'postgres',
    database: database.name,
  }
  // Neither can give a connection: one of one is taken, the other is never used.
  const pool = new Pool({ ...login, max: 1, statement_timeout: 1 })
  const taken = await pool.connect()
  const sql = postgres({ ...login, max: 1 })
  const options = { purpose: 'test', timeoutMs: 5_000 }
  for (const [given, driver] of [
    [pool, 'node-postgres'],
    [sql, 'postgres.js'],
  ] as const) {
    await using engine = await engineFor(given)
    expect(engine.driver).toBe(driver)
    const session = await engine.connect(options)
    const text = 'select current_database()::text as name, pg_sleep(0.01)::text as slept'
    expect(await session.query({ name: 'where', text, values: [] })).toMatchObject([
      { name: database.name },
    ])
  }
  expect(pool.totalCount).toBe(1)
  taken.release()
  await Promise.all([pool.end(), sql.end()])
})

test('a pool with a connection string, and its Client class, are used', async () => {
  await using database = await freshDatabase()
  const passwords: unknown[] = []
  class Counted extends Client {
    constructor(config?: string | ClientConfig) {
      super(config)
      passwords.push(typeof config === 'object' ? config.password : undefined)
    }
  }
  const connectionString = `${database.url}?application_name=mine`
  const pool = new Pool({ connectionString, password: 'hidden by the pool', Client: Counted })
  await using engine = await engineFor(pool)
  const session = await engine.connect({ purpose: 'claim', timeoutMs: 5_000 })
  const text = "select current_setting('application_name') as name"
  expect(await session.query({ name: 'who', text, values: [] })).toEqual([
    { name: 'millrace claim' },
  ])
  expect(passwords).toEqual(['hidden by the pool'])
  await pool.end()
})

test("a PGlite of the caller's is used as it is", { timeout: 120_000 }, async () => {
  const instance = await startPglite()
  await using engine = await engineFor(instance)
  const session = await engine.connect({ purpose: 'test', timeoutMs: 5_000 })
  await session.execute('create table mine (id int4)')
  expect((await instance.query("select to_regclass('mine')::text as t")).rows).toEqual([
    { t: 'mine' },
  ])
  await instance.close()
})

test('what is none of these is an error that lists them', async () => {
  for (const given of [null, 1, true, {}, [], { env: 1 }, () => {}]) {
    expect((await refusal(given)).message).toContain("{ env: 'DATABASE_URL' }")
  }
  expect((await refusal({ query() {} })).message).toContain('use mill.in(tx)')
})
