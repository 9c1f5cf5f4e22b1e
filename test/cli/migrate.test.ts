import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { releasedMigrations } from '../../src/database/migration-files.ts'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'

const migrations = await releasedMigrations()
const FILES = migrations.map(({ name }) => name)
const VERSION = FILES.length
const APPLIED = FILES.map((name) => `applied ${name}\n`).join('')

test('G1: status on an empty database creates nothing and exits 1 with the command to run', async () => {
  await using database = await freshDatabase()

  const { code, out } = await millrace(['migrate', 'status', '--database', database.url])

  expect(code).toBe(1)
  expect(out).toContain(`schema "millrace" is at version 0, this release needs ${VERSION}`)
  expect(out).toMatch(/0001-jobs\.sql +pending/)
  expect(out).toContain('Run: npx millrace migrate up')
  const schemas = await runSql(
    database.url,
    "select 1 from pg_namespace where nspname = 'millrace'",
  )
  expect(schemas).toEqual([])
})

test('G1: up, then status is content; up again has nothing to do', async () => {
  await using database = await freshDatabase()
  const env = { DATABASE_URL: database.url, MILLRACE_SCHEMA: 'app', MILLRACE_PREFIX: 'a_' }

  expect(await millrace(['migrate', 'up'], { env })).toEqual({
    code: 0,
    out: APPLIED,
    err: '',
  })
  expect(await millrace(['migrate', 'up'], { env })).toMatchObject({
    code: 0,
    out: 'nothing to do\n',
  })
  const status = await millrace(['migrate', 'status'], { env })
  expect(status.code).toBe(0)
  expect(status.out).toContain(`schema "app" with prefix "a_" is at version ${VERSION}`)
  expect(await millrace(['migrate', 'status', '--check'], { env })).toEqual({
    code: 0,
    out: '',
    err: '',
  })
})

test('G1: status --check prints nothing but problems, each with its command', async () => {
  await using database = await freshDatabase()
  const env = { DATABASE_URL: database.url }
  await millrace(['migrate', 'up'], { env })
  await runSql(
    database.url,
    "update millrace.migrations set checksum = 'x' where id = 1; drop index millrace.ready_claim",
  )

  const { code, out } = await millrace(['migrate', 'status', '--check'], { env })

  expect(code).toBe(1)
  const [edited, drifted, ...rest] = out.trimEnd().split('\n')
  expect(edited).toMatch(/^migration 0001-jobs\.sql was edited .* Run: npm ci$/)
  expect(drifted).toMatch(/^index "ready_claim" .* Run: create index "ready_claim" on /)
  expect(rest).toEqual([])
  const up = await millrace(['migrate', 'up'], { env })
  expect(up).toMatchObject({ code: 1, out: '' })
  expect(up.err).toMatch(/^NOT_MIGRATED: .*0001-jobs\.sql was edited/)
})

test('with --json the answer is one document on standard output', async () => {
  await using database = await freshDatabase()
  const words = ['--json', '--database', database.url]

  const before = await millrace(['migrate', 'status', ...words])
  const up = await millrace(['migrate', 'up', ...words])
  const after = await millrace(['migrate', 'status', '--check', ...words])

  expect(before.code).toBe(1)
  expect(JSON.parse(before.out)).toMatchObject({ version: 0, problems: [{ code: 'missing' }] })
  expect(JSON.parse(up.out)).toEqual({ applied: FILES })
  expect(after.code).toBe(0)
  expect(JSON.parse(after.out)).toMatchObject({ version: VERSION, problems: [] })
})

test('an embedded database that is not there is not made by looking', async () => {
  const directory = join(tmpdir(), `millrace-none-${process.pid}`)

  const status = await millrace(['migrate', 'status', '--database', directory])
  const list = await millrace(['jobs', 'list', '--database', directory])

  expect(status.code).toBe(1)
  expect(status.err).toContain(`Run: npx millrace migrate up --database '${directory}'`)
  expect(list.code).toBe(1)
  expect(existsSync(directory)).toBe(false)
})

test('an embedded database is made by up', { timeout: 120_000 }, async () => {
  const directory = join(tmpdir(), `millrace-made-${process.pid}`)
  try {
    expect(await millrace(['migrate', 'up', '--database', directory])).toMatchObject({
      code: 0,
      out: APPLIED,
    })
    expect(await millrace(['migrate', 'status', '--check', '--database', directory])).toMatchObject(
      {
        code: 0,
      },
    )
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test('G1: export writes the files and needs no database', async () => {
  const directory = join(tmpdir(), `millrace-export-${process.pid}`)
  try {
    const { code, out } = await millrace(['migrate', 'export', '--to', directory])
    expect(code).toBe(0)
    expect((await readdir(directory)).toSorted()).toEqual(FILES)
    expect(out).toBe(FILES.map((name) => `${join(directory, name)}\n`).join(''))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test('G1: grants prints what it ran; with --dry-run it needs no database', async () => {
  await using database = await freshDatabase()
  const role = `app_${database.name}`
  await millrace(['migrate', 'up', '-d', database.url])
  await runSql(database.url, `create role ${role}`)
  try {
    const done = await millrace(['migrate', 'grants', '--role', role, '-d', database.url])
    const dry = await millrace(['migrate', 'grants', '--role', role, '--dry-run'])

    expect(done.code).toBe(0)
    expect(dry.out).toBe(done.out)
    expect(done.out).toContain(`grant usage on schema "millrace" to "${role}";`)
    const granted = `select has_table_privilege('${role}', 'millrace.ready', 'delete') as granted`
    expect(await runSql(database.url, granted)).toEqual([{ granted: true }])
  } finally {
    await runSql(database.url, `drop owned by ${role}; drop role ${role}`)
  }
})
