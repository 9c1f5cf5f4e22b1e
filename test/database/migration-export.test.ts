import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkDatabase } from '../../src/database/check.ts'
import { exportMigrations } from '../../src/database/migration-export.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { migrationStatus } from '../../src/database/migration-status.ts'
import { namespace } from '../../src/database/namespace.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { runSql } from '../support/sql.ts'

async function temporaryDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'millrace-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

test.each([
  ['millrace', ''],
  ['app', 'work_'],
  [`it's "$body$"`, '{{schema}}\\'],
])(
  'G1: another tool runs the exported files, and the check is content: %j %j',
  async (schema, prefix) => {
    await using database = await freshDatabase()
    await using directory = await temporaryDirectory()
    await using session = await sessionOn(database.url)
    const place = namespace(schema, prefix)

    for (const path of await exportMigrations(join(directory.path, 'sql'), place)) {
      await runSql(database.url, `begin;\n${await readFile(path, 'utf8')}\ncommit;`)
    }

    expect(await checkDatabase(session, place)).toEqual([])
    expect(await migrateUp(session, place)).toEqual({ applied: [] })
    const { migrations } = await migrationStatus(session, place)
    expect(migrations[0]).toMatchObject({
      state: 'applied',
      release: null,
      appliedAt: expect.any(Date),
    })
  },
)

test('G1: an exported file runs as a role that may not create the schema that is there', async () => {
  await using database = await freshDatabase()
  await using directory = await temporaryDirectory()
  const role = `tool_${database.name}`
  await runSql(database.url, `create role ${role}; create schema millrace authorization ${role}`)
  const [path = ''] = await exportMigrations(directory.path, namespace())
  try {
    await runSql(database.url, `set role ${role};\n${await readFile(path, 'utf8')}`)
    expect(await runSql(database.url, 'select id from millrace.migrations')).toEqual([{ id: 1 }])
  } finally {
    await runSql(database.url, `drop owned by ${role} cascade; drop role ${role}`)
  }
})

test('the same release exports the same text again, and leaves what is there', async () => {
  await using directory = await temporaryDirectory()
  const [path = ''] = await exportMigrations(directory.path, namespace())
  const first = await readFile(path, 'utf8')

  await exportMigrations(directory.path, namespace())

  expect(await readFile(path, 'utf8')).toBe(first)
})

test('another file of the name is not overwritten', async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, '0001-jobs.sql')
  await writeFile(path, 'mine')

  await expect(exportMigrations(directory.path, namespace())).rejects.toMatchObject({
    code: 'MIGRATION',
    migration: path,
  })
  expect(await readFile(path, 'utf8')).toBe('mine')
})
