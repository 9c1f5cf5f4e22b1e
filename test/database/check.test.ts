import { expect, test } from 'vitest'
import { checkDatabase, inspectDatabase } from '../../src/database/check.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { namespace } from '../../src/database/namespace.ts'
import type { Namespace } from '../../src/database/namespace.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { laterMigration, newestReleased, withLater } from '../support/migrations.ts'
import { runSql } from '../support/sql.ts'

const place = namespace()

async function setup(at: Namespace = place) {
  const database = await freshDatabase()
  const session = await sessionOn(database.url)
  await migrateUp(session, at)
  const sql = (text: string) => runSql(database.url, text)
  const problems = () => checkDatabase(session, at)
  return {
    ...database,
    session,
    sql,
    problems,
    async [Symbol.asyncDispose]() {
      await session.close()
      await database.drop()
    },
  }
}

test('G2: a migrated database has no problem', async () => {
  await using database = await setup()

  expect(await database.problems()).toEqual([])
})

test('G2: an empty database is missing everything, and nothing is created by looking', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)

  const newest = await newestReleased()
  expect(await checkDatabase(session, place)).toEqual([
    {
      code: 'missing',
      what: `the database has no schema "millrace", this release needs version ${newest}`,
      command: 'npx millrace migrate up',
    },
  ])
  expect(
    await runSql(database.url, "select 1 from pg_namespace where nspname = 'millrace'"),
  ).toEqual([])
})

test('G2: a schema without our tables is missing them; the command names the namespace', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await runSql(database.url, `create schema "my app"`)

  expect(await checkDatabase(session, namespace('my app', "it's_"))).toEqual([
    expect.objectContaining({
      what: expect.stringContaining(
        'schema "my app" with prefix "it\'s_" holds no tables of Millrace',
      ),
      command: `npx millrace migrate up --schema 'my app' --prefix 'it'\\''s_'`,
    }),
  ])
})

test('G2: behind says from where to where', async () => {
  await using database = await setup()
  const newest = await newestReleased()
  const migrations = await withLater(laterMigration(newest + 1, ''), laterMigration(newest + 2, ''))

  const { problems } = await inspectDatabase(database.session, place, migrations)

  expect(problems).toEqual([
    {
      code: 'behind',
      what: `schema "millrace" is at version ${newest}, this release needs ${newest + 2}`,
      command: 'npx millrace migrate up',
    },
  ])
})

test('G2: ahead is refused only where a later migration says that this release cannot work with it', async () => {
  await using database = await setup()
  const newest = await newestReleased()
  const bearable = laterMigration(newest + 1, 'drop index millrace.ready_expiry', newest)
  await migrateUp(database.session, place, { migrations: await withLater(bearable) })
  expect(await database.problems()).toEqual([])

  const unbearable = laterMigration(newest + 2, 'drop view millrace.errors')
  await migrateUp(database.session, place, { migrations: await withLater(bearable, unbearable) })
  await database.sql(`update millrace.migrations set release = '9.0.0' where id = ${newest + 2}`)

  expect(await database.problems()).toEqual([
    {
      code: 'ahead',
      what: expect.stringContaining(`is at version ${newest + 2}, release`),
      command: 'npm install millrace@9.0.0',
    },
  ])
})

test('G2: an edited history is named by its file', async () => {
  await using database = await setup()
  await database.sql("update millrace.migrations set checksum = repeat('0', 64) where id = 1")

  expect(await database.problems()).toEqual([
    {
      code: 'edited',
      what: expect.stringMatching(/^migration 0001-jobs\.sql was edited.*checksum 000000000000,/),
      command: 'npm ci',
    },
  ])
})

test('G2: an unknown row and a file passed over are both listed', async () => {
  await using database = await setup()
  const newest = await newestReleased()
  const known = await withLater(laterMigration(newest + 1, ''), laterMigration(newest + 3, ''))
  await database.sql(
    `insert into millrace.migrations values
       (${newest + 2}, '0009-other.sql', 'x', 1, now(), '0.9.0'),
       (${newest + 3}, '${known.at(-1)?.name}', '${known.at(-1)?.checksum}', 1, now(), '0.9.0')`,
  )

  const { problems } = await inspectDatabase(database.session, place, known)

  expect(problems).toEqual([
    expect.objectContaining({
      code: 'unknown',
      what: expect.stringContaining('0009-other.sql was applied by release 0.9.0'),
      command: 'npm install millrace@0.9.0',
    }),
    expect.objectContaining({
      code: 'late',
      what: expect.stringContaining(`${known.at(-2)?.name} was never applied`),
      command: 'npx millrace migrate up --late',
    }),
  ])
})

test.each([
  ['alter table millrace.jobs drop column options', 'column "jobs.options"'],
  ['alter table millrace.jobs alter column queue type varchar(20)', 'column "jobs.queue"'],
  ['alter table millrace.ready alter column run drop not null', 'column "ready.run"'],
  ['alter table millrace.ready alter column sibling drop default', 'column "ready.sibling"'],
  [
    'alter table millrace.jobs alter column dedup_key type text collate "default"',
    'column "jobs.dedup_key"',
  ],
  ['drop index millrace.ready_claim', 'index "ready_claim"'],
  [
    'drop index millrace.ready_key; create index ready_key on millrace.ready (kind, dedup_key, sibling) where dedup_key is not null',
    'index "ready_key"',
  ],
  [
    'drop index millrace.leases_key; create index leases_key on millrace.leases (kind, dedup_key)',
    'index "leases_key"',
  ],
  ['alter table millrace.leases drop constraint leases_pkey', 'index "leases_pkey"'],
  ['alter table millrace.jobs add column mine int not null', 'column "jobs.mine"'],
  ['create unique index mine on millrace.jobs (kind)', 'index "mine"'],
])('G2: drift is found, and its command puts it right: %s', async (change, what) => {
  await using database = await setup()
  await database.sql(change)

  const found = await database.problems()
  expect(found).toEqual([expect.objectContaining({ code: 'drifted' })])
  expect(found[0]?.what).toContain(what)

  await database.sql(found[0]?.command ?? '')
  expect(await database.problems()).toEqual([])
})

test('G2: a table that is gone is one problem', async () => {
  await using database = await setup()
  await database.sql('drop table millrace.leases cascade')

  const found = await database.problems()

  // The view over all tables went with it.
  expect(found.map(({ what }) => what.split(' of ')[0])).toEqual([
    'table "leases"',
    'view "all_jobs"',
  ])
})

test.each([
  'create index mine on millrace.jobs (kind)',
  'alter table millrace.jobs add column mine text',
  'alter table millrace.jobs add column mine int not null default 0',
  'alter index millrace.ready_claim set (fillfactor = 70)',
  'alter table millrace.ready set (autovacuum_vacuum_threshold = 100)',
  'create table millrace.mine (id int not null)',
])('G2: what does no harm may be added: %s', async (change) => {
  await using database = await setup()
  await database.sql(change)

  expect(await database.problems()).toEqual([])
})

test('G2: every problem is listed at once', async () => {
  await using database = await setup()
  await database.sql(`
    update millrace.migrations set checksum = 'x' where id = 1;
    drop index millrace.ready_claim;
    alter table millrace.jobs alter column kind drop not null`)

  const found = await database.problems()

  expect(found.map(({ what }) => what.split(' ').slice(0, 2).join(' '))).toEqual([
    'migration 0001-jobs.sql',
    'index "ready_claim"',
    'column "jobs.kind"',
  ])
})

test('G2: what the role may not read is a problem, not a failure', async () => {
  await using database = await setup()
  const role = `reader_${database.name}`
  await database.sql(`create role ${role} login password 'secret'`)
  const url = new URL(database.url)
  url.username = role
  url.password = 'secret'
  const grants = `npx millrace migrate grants --role ${role}`
  try {
    await using session = await sessionOn(url.href)
    expect(await checkDatabase(session, place)).toEqual([
      { code: 'unreadable', what: expect.stringContaining('schema "millrace"'), command: grants },
    ])

    await database.sql(`grant usage on schema millrace to ${role};
      grant select on all tables in schema millrace to ${role};
      revoke select on millrace.ready from ${role}`)
    expect(await checkDatabase(session, place)).toEqual([
      {
        code: 'unreadable',
        what: `role "${role}" may not use table "ready". Let the owner grant it`,
        command: grants,
      },
    ])
  } finally {
    await database.sql(`drop owned by ${role}; drop role ${role}`)
  }
})

test('G4: two namespaces side by side, also in one schema, are judged apart', async () => {
  await using database = await setup()
  const others = [namespace('other'), namespace('millrace', 'a_'), namespace('millrace', 'a_b_')]
  for (const other of others) await migrateUp(database.session, other)
  await database.sql('drop index millrace.a_ready_claim; drop table other.migrations')

  expect(await database.problems()).toEqual([])
  const [first, second, third] = await Promise.all(
    others.map((other) => checkDatabase(database.session, other)),
  )
  expect(first).toEqual([
    expect.objectContaining({ command: expect.stringContaining('--schema other') }),
  ])
  expect(second).toEqual([
    expect.objectContaining({ what: expect.stringContaining('"a_ready_claim"') }),
  ])
  expect(third).toEqual([])
})

test.each([
  ["it's", "a'b"],
  ['with "quotes"', 'p"q_'],
  ['$body$', '$$'],
  ['two\nlines; --', 'a\tb'],
  ['{{ready}}', '{{schema}}'],
  ['millrace.jobs', 'millrace.ready'],
  ['Größe ☂ スキーマ', 'ü_'],
  ['select', 'table'],
  ['*/', '/*'],
  ['back\\slash', '\\'],
  ['100%s', '%I'],
  ['a USING b', ' USING '],
  ['MixedCase', 'Upper_'],
  [`${'é'.repeat(31)}x`, `${'ü'.repeat(17)}y`],
])('hostile names work everywhere: %j %j', async (schema, prefix) => {
  const hostile = namespace(schema, prefix)
  await using database = await setup(hostile)

  expect(await database.problems()).toEqual([])
  const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const enqueue = hostile.apply(`select millrace.enqueue('kind', '1', id => '${id}') as id`)
  expect(await database.sql(enqueue)).toEqual([{ id }])
  const states = hostile.apply('select id, state from millrace.all_jobs')
  expect(await database.sql(states)).toEqual([{ id, state: 'pending' }])
})
