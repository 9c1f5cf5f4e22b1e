import { readdirSync, readFileSync } from 'node:fs'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleClock } from '../../src/database/clock-sample.ts'
import { nodePostgresEngine } from '../../src/database/drivers/node-postgres.ts'
import { namespace } from '../../src/database/namespace.ts'
import { bind, render } from '../../src/database/statement.ts'
import type { Parameters } from '../../src/database/statement.ts'
import { databaseOfFile, setup } from '../support/mill.ts'
import { allStatements } from '../support/all-statements.ts'
import { COLUMNS } from './statement-columns.ts'

const place = namespace('t_statements')
const statements = await allStatements()
let sql: postgres.Sql

beforeAll(async () => {
  const { close } = await setup({ schema: place.schema })
  await close()
  sql = postgres(await databaseOfFile(), { max: 1, onnotice: () => {} })
})
afterAll(() => sql.end())

test('every statement of src is held by this file', () => {
  expect(statements.length).toBeGreaterThan(20)
  expect(new Set(statements.map(({ name }) => name))).toEqual(new Set(Object.keys(COLUMNS)))
})

describe.each(statements.map((each) => [each.name, each] as const))('%s', (name, statement) => {
  test('is accepted by the server, and its columns are those of its TypeScript type', async () => {
    const described = await sql.unsafe(render(statement, place)).describe()
    const columns = described.columns.map((column) => [column.name, typeOf(column.type)] as const)
    expect(Object.fromEntries(columns)).toEqual(COLUMNS[name])
    expect(described.types).toHaveLength(statement.parameters.length)
  })

  test('has columns of four types only, on which all drivers agree', async () => {
    const { columns } = await sql.unsafe(render(statement, place)).describe()
    const types = columns.map(({ type }) => typeOf(type))
    const allowed = new Set<unknown>(['text', 'int4', 'float8', 'bool', 'void'])
    expect(types.filter((type) => !allowed.has(type))).toEqual([])
  })

  test('names its tables in the default schema only, so that it can be pasted into psql', () => {
    const tables = [...statement.text.matchAll(/\b(?:from|join|into|update)\s+millrace\.(\w+)/g)]
    const known = new Set([
      'jobs',
      'ready',
      'leases',
      'finished',
      'journal',
      'timeline',
      'carries',
      'queues',
      'workers',
      'rollups',
      'schedules',
      'throttles',
      'locks',
      'lock_waiters',
      'streams',
      'event_inbox',
      'events',
      'consumers',
      'sequence_events',
      'outbox_inbox',
      'outbox_line',
      'outbox_heads',
      'migrations',
    ])
    expect(tables.map(([, table = '']) => table).filter((table) => !known.has(table))).toEqual([])
  })

  test.each(statement.parameters.map((parameter) => [parameter]))(
    'throws when $%s is missing, instead of sending NULL',
    (missing) => {
      const others = statement.parameters.filter((parameter) => parameter !== missing)
      const params: Parameters = Object.fromEntries(others.map((parameter) => [parameter, '']))
      expect(() => bind(statement, params, place)).toThrow(
        `${name} lacks its parameter $${missing}`,
      )
    },
  )
})

describe('names', () => {
  const names = statements.map(({ name }) => name)

  test('are unique, and short enough for every driver', () => {
    expect(names).toHaveLength(new Set(names).size)
    expect(names.filter((name) => !/^[a-z_]{3,50}$/.test(name))).toEqual([])
  })

  test('are the names of the prepared statements', async () => {
    await using engine = nodePostgresEngine({ url: await databaseOfFile() })
    await using session = await engine.connect({ purpose: 'test', timeoutMs: 10_000 })
    const given = statements.filter(
      (each) => each.parameters.length === 0 && /^\s*select/.test(each.text),
    )
    expect(given.map(({ name }) => name)).toContain('sample_clock')
    for (const each of given) await session.query(bind(each, {}, place))
    const rows = await session.query({
      name: 'look',
      text: `select split_part(name, '~', 1) as name from pg_prepared_statements where name not like 'look~%' order by 1`,
      values: [],
    })
    expect(rows.map((row) => row['name'])).toEqual(given.map(({ name }) => name).toSorted())
  })
})

describe("the database's clock", () => {
  const CLOCK =
    /\b(?:now\s*\(|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|current_(?:timestamp|date|time)\b|localtime(?:stamp)?\b|age\s*\(\s*\w+\s*\)|['"](?:now|today|tomorrow|yesterday)['"])/i

  test('is read by the sampling statement', () => {
    expect(sampleClock.text).toMatch(CLOCK)
  })

  test('is read by no other statement', () => {
    const reading = statements.filter(({ text }) => CLOCK.test(text)).map(({ name }) => name)
    expect(reading).toEqual(['sample_clock'])
  })

  test('is read by nothing in the migrations but the SQL function for triggers', () => {
    const folder = new URL('../../src/database/migrations/', import.meta.url)
    const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
    expect(files.length).toBeGreaterThan(1)
    const reading = files.filter((file) => {
      const text = readFileSync(new URL(file, folder), 'utf8').replaceAll(/--.*$/gm, '')
      return CLOCK.test(text.replace(/create function millrace\.enqueue\([\s\S]*?\$body\$;/, ''))
    })
    expect(reading).toEqual([])
  })
})

/** The names of PostgreSQL's types by their numbers, of the types that matter here. */
function typeOf(oid: number): string {
  return { 16: 'bool', 23: 'int4', 25: 'text', 701: 'float8', 2278: 'void' }[oid] ?? `type ${oid}`
}
