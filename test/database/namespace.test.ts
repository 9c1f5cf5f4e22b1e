import { expect, test } from 'vitest'
import { LONGEST_OBJECT, namespace, quoted } from '../../src/database/namespace.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { runSql } from '../support/sql.ts'

test('tables, bare names, schema and channel are put in, each quoted', () => {
  const { apply, channel } = namespace('app', 'work_')

  expect(apply('select 1 from millrace.ready r')).toBe('select 1 from "app"."work_ready" r')
  expect(apply('create index {{ready_claim}} on millrace.ready')).toBe(
    'create index "work_ready_claim" on "app"."work_ready"',
  )
  expect(apply('create schema {{schema}}')).toBe('create schema "app"')
  expect(apply("notify '{{channel}}'")).toBe(`notify '${channel}'`)
})

test.each([
  ['a quote', 'a"b', 'select "a""b"."jobs"'],
  ['an apostrophe', "a'b", 'select U&"a\\0027b"."jobs"'],
  ['a dollar quote', '$body$', 'select U&"\\0024body\\0024"."jobs"'],
  ['a line end', 'a\nb', 'select U&"a\\000ab"."jobs"'],
  ['the end of a comment', 'a*/b', 'select U&"a\\002a\\002fb"."jobs"'],
  ['a backslash', 'a\\b', 'select U&"a\\005cb"."jobs"'],
  ['quote and apostrophe', `"'`, 'select U&"\\0022\\0027"."jobs"'],
  ['a place of our own', '{{schema}}', 'select "{{schema}}"."jobs"'],
  ['a table of the default schema', 'millrace.ready', 'select "millrace.ready"."jobs"'],
  ['a replacement pattern', "$&$'", 'select U&"\\0024&\\0024\\0027"."jobs"'],
])('%s in a schema ends nothing, in code, comments, literals and bodies', (_what, schema, sql) => {
  expect(namespace(schema).apply('select millrace.jobs')).toBe(sql)
})

test('a quoted name is one identifier', () => {
  expect(quoted('a"; drop table b; --')).toBe('"a""; drop table b; --"')
})

test.each([
  ['schema', ['', ''], 'empty'],
  ['schema', ['   ', ''], 'empty'],
  ['schema', ['a\u0000b', ''], 'U+0000'],
  ['schema', ['\ud800', ''], 'surrogate'],
  ['schema', ['pg_mine', ''], 'pg_'],
  ['schema', ['x'.repeat(64), ''], '64 bytes'],
  ['schema', ['é'.repeat(32), ''], '64 bytes'],
  ['prefix', ['app', 'x'.repeat(64 - LONGEST_OBJECT)], `at most ${63 - LONGEST_OBJECT}`],
  ['prefix', ['app', 'é'.repeat(18)], '36 bytes'],
  ['prefix', ['app', '\u0000'], 'U+0000'],
] as const)('a %s that cannot be one is refused before anything runs: %j', (what, names, why) => {
  expect(() => namespace(...names)).toThrow(
    expect.objectContaining({
      code: 'INVALID_NAME',
      what,
      message: expect.stringContaining(why),
    }),
  )
})

test('the longest schema and prefix fit', () => {
  expect(() => namespace('x'.repeat(63), 'y'.repeat(63 - LONGEST_OBJECT))).not.toThrow()
})

test('G4: each namespace has a channel of its own that fits 63 bytes', () => {
  const places = [
    namespace(),
    namespace('app'),
    namespace('app', 'work_'),
    namespace('appwork_'),
    namespace('x'.repeat(63), 'y'.repeat(35)),
  ]
  const channels = new Set(places.map(({ channel }) => channel))

  expect(channels.size).toBe(places.length)
  expect([...channels].every((channel) => Buffer.byteLength(channel) <= 63)).toBe(true)
})

test('no object of the migrations is longer than the room that a prefix leaves', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await migrateUp(session, namespace())

  const [longest] = await runSql(
    database.url,
    `select name, octet_length(name) as bytes from (
       select relname::text from pg_class where relnamespace = 'millrace'::regnamespace
       union all select proname::text from pg_proc where pronamespace = 'millrace'::regnamespace
       union all select conname::text from pg_constraint
         where connamespace = 'millrace'::regnamespace and contype <> 'n'
     ) objects(name)
     where name not like '%\\_not\\_null' order by 2 desc limit 1`,
  )

  expect(Number(longest?.['bytes'])).toBeLessThanOrEqual(LONGEST_OBJECT)
})
