import { expect, test } from 'vitest'
import { engineFor } from '../../src/database/connect.ts'
import type { Engine } from '../../src/database/database.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import type { Migrated } from '../../src/database/migrate.ts'
import { namespace } from '../../src/database/namespace.ts'
import { startCheck } from '../../src/database/start.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { laterMigration, newestReleased, withLater } from '../support/migrations.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'

const place = namespace()

test('G1, replays 13: ten starters on an empty database take turns: all succeed, one history, each step once', async () => {
  await using database = await freshDatabase()
  const newest = await newestReleased()
  const later = await withLater(
    laterMigration(newest + 1, 'create table millrace.one_more (id int); select pg_sleep(0.2)'),
    laterMigration(newest + 2, 'alter table millrace.one_more add column more int'),
  )
  const sessions = await Promise.all(Array.from({ length: 10 }, () => sessionOn(database.url)))

  const results = await Promise.all(
    sessions.map((session) => migrateUp(session, place, { migrations: later })),
  )

  const names = later.map(({ name }) => name)
  expect(results.flatMap(({ applied }) => applied).toSorted()).toEqual(names)
  const history = await runSql(database.url, 'select name from millrace.migrations order by id')
  expect(history.map(({ name }) => name)).toEqual(names)
  await Promise.all(sessions.map((session) => session.close()))
})

test('G1: a run killed in the middle of a step leaves no half and no lock; the next goes on', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await using next = await sessionOn(database.url)
  const id = (await newestReleased()) + 1
  const slow = laterMigration(id, 'create table millrace.half (id int); select pg_sleep(60)')

  const running = outcome(migrateUp(session, place, { migrations: await withLater(slow) }))
  await killSleeper(database.url)

  expect(await running).toMatchObject({ code: 'MIGRATION', migration: slow.name })
  const half = await runSql(database.url, "select to_regclass('millrace.half') as half")
  expect(half).toEqual([{ half: null }])
  const locks = await runSql(
    database.url,
    "select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
  )
  expect(locks).toEqual([])
  const whole = laterMigration(id, 'create table millrace.half (id int)')
  const { applied } = await migrateUp(next, place, { migrations: await withLater(whole) })
  expect(applied).toEqual([whole.name])
})

test('G1: who waits behind a killed run goes on by itself', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await using waiting = await sessionOn(database.url)
  await migrateUp(session, place)
  const id = (await newestReleased()) + 1
  const slow = laterMigration(id, 'select pg_sleep(60)')
  const quick = laterMigration(id, 'create table millrace.quick (id int)')

  const killed = outcome(migrateUp(session, place, { migrations: await withLater(slow) }))
  await sleeperOf(database.url)
  const second = migrateUp(waiting, place, { migrations: await withLater(quick) })
  await waitersOf(database.url, 'advisory', 1)
  await killSleeper(database.url)

  expect(await killed).toMatchObject({ code: 'MIGRATION' })
  expect(await second).toEqual({ applied: [quick.name] })
})

test('G1: clients that migrate at their start take their time, and wait for each other however long a step takes', async () => {
  await using database = await freshDatabase()
  await using engine = impatient(await engineFor(database.url))
  // The first step lasts three times as long as a statement of theirs may.
  await runSql(
    database.url,
    `create function public.stall() returns event_trigger language plpgsql
       as 'begin perform pg_sleep(1.5); end';
     create event trigger stall on ddl_command_end when tag in ('CREATE SCHEMA')
       execute function public.stall()`,
  )
  const start = () => startCheck(engine, place, { migrate: 'auto', clock: null })

  await Promise.all([start(), start()])

  const history = await runSql(
    database.url,
    'select count(*)::int as steps from millrace.migrations',
  )
  expect(history).toEqual([{ steps: await newestReleased() }])
})

test('G1: a step does not queue in front of everybody behind a long transaction: it comes back', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await using holder = await sessionOn(database.url)
  await migrateUp(session, place)
  const id = (await newestReleased()) + 1
  const step = laterMigration(id, 'alter table millrace.jobs add column x int')
  const migrations = await withLater(step)

  const running = await holder.transaction(async (transaction) => {
    await transaction.execute('lock table millrace.jobs in access share mode')
    const started = outcome(migrateUp(session, place, { migrations }))
    await waitersOf(database.url, 'relation', 1)
    await waitersOf(database.url, 'relation', 0)
    return { started }
  })

  expect(await running.started).toEqual({ applied: [step.name] })
})

test('G1: while a step comes back again and again, of however many starters, others have at least a third of the time', async () => {
  await using database = await freshDatabase()
  await using session = await sessionOn(database.url)
  await using second = await sessionOn(database.url)
  await using third = await sessionOn(database.url)
  await using holder = await sessionOn(database.url)
  await using looker = await sessionOn(database.url)
  await migrateUp(session, place)
  const id = (await newestReleased()) + 1
  const step = laterMigration(id, 'alter table millrace.ready add column x int')
  const migrations = await withLater(step)
  const looks = { waiting: 0, free: 0, tries: 0 }

  const running = await holder.transaction(async (transaction) => {
    await transaction.execute('lock table millrace.ready in row exclusive mode')
    const started = [session, second, third].map((each) =>
      outcome(migrateUp(each, place, { migrations })),
    )
    let wasWaiting = false
    // From the first try to the beginning of the third: two tries, and the time after each.
    await until(async () => {
      const [row] = await looker.query(WAITING)
      const isWaiting = row?.['waiting'] === 1
      if (isWaiting && !wasWaiting) looks.tries += 1
      wasWaiting = isWaiting
      if (looks.tries === 0) return false
      looks[isWaiting ? 'waiting' : 'free'] += 1
      return looks.tries === 3
    })
    return { started }
  })

  expect(looks.free).toBeGreaterThan(looks.waiting / 2)
  const applied = [{ applied: [] }, { applied: [] }, { applied: [step.name] }]
  expect(await Promise.all(running.started)).toEqual(expect.arrayContaining(applied))
})

const WAITING = {
  name: 'waiting',
  text: `select count(*)::int4 as waiting from pg_locks
    where locktype = 'relation' and not granted
      and database = (select oid from pg_database where datname = current_database())`,
  values: [],
}

/** Gives up after half a second where others wait for half a minute. */
function impatient(engine: Engine): Engine {
  return {
    driver: engine.driver,
    isSingleConnection: engine.isSingleConnection,
    connect: (options) => engine.connect({ ...options, timeoutMs: options.timeoutMs / 60 }),
    listen: (channel, handlers) => engine.listen(channel, handlers),
    close: () => engine.close(),
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

function outcome(running: Promise<Migrated>): Promise<unknown> {
  return running.catch((error: unknown) => error)
}

async function killSleeper(url: string): Promise<void> {
  await runSql(url, 'select pg_terminate_backend($1)', [await sleeperOf(url)])
}

function sleeperOf(url: string): Promise<unknown> {
  return until(async () => {
    const [row] = await runSql(
      url,
      "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
    )
    return row?.['pid']
  })
}

/** Resolves once so many sessions of this database wait for a lock of this kind. */
async function waitersOf(url: string, what: string, count: number): Promise<void> {
  await until(async () => {
    const [row] = await runSql(
      url,
      `select count(*)::int as waiting from pg_locks join pg_database d on d.oid = database
       where datname = current_database() and locktype = $1 and not granted`,
      [what],
    )
    return row?.['waiting'] === count
  })
}
