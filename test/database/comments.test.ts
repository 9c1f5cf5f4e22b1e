import { expect, test } from 'vitest'
import { migrateUp } from '../../src/database/migrate.ts'
import { namespace } from '../../src/database/namespace.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { runSql } from '../support/sql.ts'

test('every table, view, function, column and index has a comment that says what it is for', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await migrateUp(session, namespace())

  const silent = await runSql(
    database.url,
    `
    select c.relname as name from pg_class c
    where c.relnamespace = 'millrace'::regnamespace and c.relkind in ('r', 'v', 'i')
      and obj_description(c.oid, 'pg_class') is null
    union all
    select p.proname from pg_proc p
    where p.pronamespace = 'millrace'::regnamespace and obj_description(p.oid, 'pg_proc') is null
    union all
    select c.relname || '.' || a.attname from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'millrace'::regnamespace and c.relkind = 'r'
      and col_description(c.oid, a.attnum) is null
    `,
  )

  expect(silent).toEqual([])
})
