import { expect, test } from 'vitest'
import { readCatalogue } from '../../src/database/catalogue.ts'
import type { CatalogueObject } from '../../src/database/catalogue.ts'
import { historySql, releasedMigrations } from '../../src/database/migration-files.ts'
import { namespace } from '../../src/database/namespace.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { catalogueSource, objectsSince } from '../support/catalogue-source.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'

test('G2: the expected catalogue is what the migrations make; written anew with -u', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  const place = namespace()
  const migrations = await releasedMigrations()
  const names = namesIn([await historySql(), ...migrations.map(({ sql }) => sql)].join('\n'))

  const history: (readonly CatalogueObject[])[] = []
  for (const index of migrations.keys()) {
    await migrateUp(session, place, { migrations: migrations.slice(0, index + 1) })
    history.push((await readCatalogue(session, place, names)).objects)
  }

  const objects = objectsSince(history)
  expect(objects.length).toBeGreaterThan(50)
  const path = new URL('../../src/database/expected-catalogue.ts', import.meta.url).pathname
  await expect(catalogueSource(objects)).toMatchFileSnapshot(path)
})

test('an object belongs to the migration that last changed it', () => {
  const id: CatalogueObject = { what: 'column', name: 'jobs.id', definition: 'text' }
  const kind: CatalogueObject = { what: 'column', name: 'jobs.kind', definition: 'text' }
  const wider: CatalogueObject = { ...kind, definition: 'text not null' }
  const index: CatalogueObject = { what: 'index', name: 'jobs_kind', definition: 'index on jobs' }

  const objects = objectsSince([
    [id, kind],
    [id, wider],
    [id, wider, index],
  ])

  expect(objects.map(({ name, since }) => [name, since])).toEqual([
    ['jobs.id', 1],
    ['jobs.kind', 2],
    ['jobs_kind', 3],
  ])
})

/** Every name that the SQL says in the default schema; those that are no tables are not found. */
function namesIn(sql: string): readonly string[] {
  return [...new Set([...sql.matchAll(/\bmillrace\.([a-z_]+)/g)].map(([, name = '']) => name))]
}
