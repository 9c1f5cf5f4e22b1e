import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrations, open } from 'millrace'
import { freshDatabase } from './support/database.ts'
import { runSql } from './support/sql.ts'

test('G2: open refuses an empty database with the command, and is content after up', async () => {
  await using database = await freshDatabase()
  await expect(open(database.url, { schema: 'app' })).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringContaining('npx millrace migrate up --schema app'),
    problems: [expect.objectContaining({ code: 'missing' })],
  })

  await using tables = migrations(database.url, { schema: 'app' })
  await tables.up()

  await using mill = await open(database.url, { schema: 'app' })
  expect(await mill.jobs.list().page()).toMatchObject({ items: [] })
})

test('G2: open refuses an edited history by name', async () => {
  await using database = await freshDatabase()
  await using tables = migrations(database.url)
  await tables.up()
  await runSql(database.url, "update millrace.migrations set checksum = 'x' where id = 1")

  await expect(open(database.url)).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringContaining('0001-jobs.sql was edited'),
  })
})

test('G1: status tells the version before and after, embedded as on a server', async () => {
  await using tables = migrations('memory:', { schema: 'My "app"', prefix: '$x$' })
  const before = await tables.status()
  await tables.up()
  const after = await tables.status()

  expect(before).toMatchObject({ schema: 'My "app"', prefix: '$x$', version: 0 })
  expect(before.problems).toHaveLength(1)
  expect(before.migrations[0]).toEqual({
    id: 1,
    name: '0001-jobs.sql',
    state: 'pending',
    appliedAt: null,
    release: null,
  })
  expect(after).toMatchObject({ version: after.needed, problems: [] })
  expect(after.migrations[0]).toMatchObject({ state: 'applied', appliedAt: expect.any(Date) })
})

test('export and a dry run of grants need no database', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-'))
  await using tables = migrations('postgres://nobody@localhost:1/none')
  try {
    const files = await tables.export(directory)
    expect(files.map((path) => path.slice(directory.length + 1))).toEqual(await readdir(directory))
  } finally {
    await rm(directory, { recursive: true })
  }
  expect((await tables.grants('app', { dryRun: true }))[0]).toBe(
    'grant usage on schema "millrace" to "app"',
  )
})

test('a connection that was lost is made anew', async () => {
  await using database = await freshDatabase()
  await using tables = migrations(database.url)
  await tables.status()
  await runSql(
    database.url,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )

  await tables.status().catch(() => undefined)
  expect((await tables.status()).version).toBe(0)
})

test('a database that cannot be reached can be asked again, and close is clean', async () => {
  const tables = migrations('postgres://nobody@localhost:1/none')

  await expect(tables.status()).rejects.toMatchObject({ code: 'DATABASE' })
  await expect(tables.up()).rejects.toMatchObject({ code: 'DATABASE' })
  await tables.close()
  await tables.close()
})
