import { expect, test } from 'vitest'
import { migrateUp } from '../../src/database/migrate.ts'
import { releasedMigrations } from '../../src/database/migration-files.ts'
import { namespace } from '../../src/database/namespace.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { runSql } from '../support/sql.ts'

const place = namespace()

// 0002 came before there was anybody who could be at work.
const released = (await releasedMigrations()).filter(({ id }) => id > 2)

/*
 * A claim locks `ready` and then `leases`, a settlement the other way round: whatever the order, a step
 * that takes both from them meets one of them half way, and PostgreSQL ends one of the two. A step that
 * needs a second table that is in use is a migration of its own.
 */
test.each(released)(
  'G1: $name takes at most one table that is in use from those who work with it',
  async ({ id, sql }) => {
    await using database = await freshDatabase()
    await using session = await sessionOn(database.url)
    const before = (await releasedMigrations()).filter((each) => each.id < id)
    await migrateUp(session, place, { migrations: before })
    const tables = await runSql(database.url, IN_USE)
    expect(tables.length).toBeGreaterThan(0)

    const taken = await session.transaction(async (transaction) => {
      await transaction.execute(place.apply(sql))
      const values = [JSON.stringify(tables)]
      return transaction.query({ name: 'taken', text: TAKEN, values })
    })
    expect(taken.slice(1)).toEqual([])
  },
)

const IN_USE = `select relname as name from pg_class
  where relnamespace = 'millrace'::regnamespace and relkind = 'r'`

// Modes that hold up writers.
const TAKEN = `select distinct c.relname as name
  from pg_locks l
  join pg_class c on c.oid = l.relation
  join json_to_recordset($1::text::json) as t(name text) on t.name = c.relname
  where l.pid = pg_backend_pid()
    and c.relnamespace = 'millrace'::regnamespace
    and c.relkind = 'r'
    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`
