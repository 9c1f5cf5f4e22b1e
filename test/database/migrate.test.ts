import { expect, test } from 'vitest'
import { checkDatabase } from '../../src/database/check.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { releasedMigrations } from '../../src/database/migration-files.ts'
import { namespace } from '../../src/database/namespace.ts'
import { release } from '../../src/database/release.ts'
import { manualClock } from '../../src/core/manual-clock.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { laterMigration, newestReleased, withLater } from '../support/migrations.ts'
import { runSql } from '../support/sql.ts'

const place = namespace()
const history = 'select name, checksum, release from millrace.migrations order by id'

test('G1: up makes everything on an empty database and records each file', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  const released = await releasedMigrations()

  const { applied } = await migrateUp(session, place)

  expect(applied).toEqual(released.map(({ name }) => name))
  expect(await runSql(database.url, history)).toEqual(
    released.map(({ name, checksum }) => ({ name, checksum, release: release() })),
  )
  expect(await checkDatabase(session, place)).toEqual([])
})

test('G1: up again does nothing', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await migrateUp(session, place)
  const before = await runSql(database.url, 'select * from millrace.migrations')

  expect(await migrateUp(session, place)).toEqual({ applied: [] })
  expect(await runSql(database.url, 'select * from millrace.migrations')).toEqual(before)
})

test('G1: a failing step names itself, keeps its cause and changes nothing; the steps before it stay', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  const newest = await newestReleased()
  const later = await withLater(
    laterMigration(newest + 1, 'create table millrace.fine (id int)'),
    laterMigration(newest + 2, 'create table millrace.half (id int); select 1 from nowhere'),
  )

  await expect(migrateUp(session, place, { migrations: later })).rejects.toMatchObject({
    code: 'MIGRATION',
    migration: later.at(-1)?.name,
    message: expect.stringContaining('relation "nowhere" does not exist'),
    cause: expect.objectContaining({ sqlstate: '42P01' }),
  })
  const tables =
    "select to_regclass('millrace.fine')::text as fine, to_regclass('millrace.half') as half"
  expect(await runSql(database.url, tables)).toEqual([{ fine: 'millrace.fine', half: null }])
  expect((await runSql(database.url, history)).at(-1)?.['name']).toBe(later.at(-2)?.name)
})

test('G1: a first step that fails leaves not even the schema', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)

  const migrations = [laterMigration(1, 'select 1 from nowhere')]
  await expect(migrateUp(session, place, { migrations })).rejects.toMatchObject({
    code: 'MIGRATION',
  })

  expect(
    await runSql(database.url, "select 1 from pg_namespace where nspname = 'millrace'"),
  ).toEqual([])
})

test('G2: up refuses an edited history by name and touches nothing', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await migrateUp(session, place)
  await runSql(database.url, "update millrace.migrations set checksum = 'edited' where id = 1")
  const step = laterMigration((await newestReleased()) + 1, 'create table millrace.more (id int)')

  await expect(
    migrateUp(session, place, { migrations: await withLater(step) }),
  ).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringContaining('migration 0001-jobs.sql was edited after it was applied'),
    problems: [expect.objectContaining({ code: 'edited', command: 'npm ci' })],
  })
  expect(await runSql(database.url, "select to_regclass('millrace.more') as more")).toEqual([
    { more: null },
  ])
})

test('G2: what was passed over is refused, and applied with `late`', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  const newest = await newestReleased()
  const passedOver = laterMigration(newest + 1, 'create table millrace.late (id int)')
  const last = laterMigration(newest + 2, 'create table millrace.last (id int)')
  await migrateUp(session, place, { migrations: await withLater(last) })
  const migrations = await withLater(passedOver, last)

  await expect(migrateUp(session, place, { migrations })).rejects.toMatchObject({
    problems: [
      expect.objectContaining({ code: 'late', command: 'npx millrace migrate up --late' }),
    ],
  })
  const { applied } = await migrateUp(session, place, { migrations, late: true })

  expect(applied).toEqual([passedOver.name])
})

test('G1: an older release has nothing to do where a newer one that it can work with was', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  const newest = await newestReleased()
  const kind = laterMigration(newest + 1, 'create table millrace.newer (id int)', newest)
  await migrateUp(session, place, { migrations: await withLater(kind) })

  expect(await migrateUp(session, place)).toEqual({ applied: [] })
})

test('G1: a role that may not create a schema uses the one made for it', async () => {
  await using database = await freshDatabase()
  const role = `owner_${database.name}`
  await runSql(database.url, `create role ${role} login password 'secret'`)
  const url = asRole(database.url, role)
  try {
    await using refused = await sessionOn(url)
    await expect(migrateUp(refused, place)).rejects.toMatchObject({
      code: 'MIGRATION',
      message: expect.stringContaining('create schema "millrace" authorization'),
    })
    await runSql(database.url, `create schema millrace authorization ${role}`)
    await using session = await sessionOn(url)
    await migrateUp(session, place)
    expect(await checkDatabase(session, place)).toEqual([])
  } finally {
    await runSql(database.url, `drop owned by ${role} cascade; drop role ${role}`)
  }
})

test('a role whose statement_timeout is short still migrates', async () => {
  await using database = await freshDatabase()
  await runSql(database.url, `alter database ${database.name} set statement_timeout = '50ms'`)
  await using session = await sessionOn(database.url)
  const slow = laterMigration((await newestReleased()) + 1, 'select pg_sleep(0.2)')

  const { applied } = await migrateUp(session, place, { migrations: await withLater(slow) })

  expect(applied).toContain(slow.name)
})

test('the history says when, by the clock that was given, else by the database', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  const at = Date.UTC(2031, 0, 31, 12)
  await migrateUp(session, place, { clock: manualClock(at) })
  await migrateUp(session, namespace('other'))

  const [given] = await runSql(database.url, 'select applied_at from millrace.migrations')
  const [sampled] = await runSql(
    database.url,
    `select abs(extract(epoch from clock_timestamp() - applied_at)) < 30 as is_now from other.migrations`,
  )
  expect(given?.['applied_at']).toEqual(new Date(at))
  expect(sampled?.['is_now']).toBe(true)
})

function asRole(url: string, role: string): string {
  const changed = new URL(url)
  changed.username = role
  changed.password = 'secret'
  return changed.href
}
