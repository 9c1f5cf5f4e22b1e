import { expect, test } from 'vitest'
import { checkDatabase } from '../../src/database/check.ts'
import { grantRole, grantStatements } from '../../src/database/grants.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { namespace } from '../../src/database/namespace.ts'
import { freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { runSql } from '../support/sql.ts'

test('G1: a role that owns nothing works after its grants, and cannot change a table', async () => {
  await using database = await freshDatabase()
  await using owner = await sessionOn(database.url)
  const place = namespace('app', "it's_")
  await migrateUp(owner, place)
  const role = `App "${database.name}"`
  const named = `"App ""${database.name}"""`
  await runSql(database.url, `create role ${named} login password 'secret'`)
  const url = new URL(database.url)
  url.username = encodeURIComponent(role)
  url.password = 'secret'
  try {
    const statements = await grantRole(owner, place, role)
    await grantRole(owner, place, role)

    expect(statements).toEqual(grantStatements(place, role))
    await using session = await sessionOn(url.href)
    expect(await checkDatabase(session, place)).toEqual([])
    const run = (sql: string) => runSql(url.href, place.apply(sql))
    expect(await run("select millrace.enqueue('kind') is not null as enqueued")).toEqual([
      { enqueued: true },
    ])
    expect(await run('select state from millrace.all_jobs')).toEqual([{ state: 'pending' }])
    await run(`insert into millrace.journal (job_id, at, run, failures, outcome)
      values ('a', now(), 1, 0, 'completed')`)
    await run('delete from millrace.ready; update millrace.jobs set priority = 1')
    await expect(run('create table millrace.mine (id int)')).rejects.toThrow('permission denied')
    await expect(run('drop table millrace.jobs')).rejects.toThrow('must be owner')
    await expect(run('delete from millrace.migrations')).rejects.toThrow('permission denied')
  } finally {
    await runSql(database.url, `drop owned by ${named}; drop role ${named}`)
  }
})

test('a role that does not exist is an error that says how to make it', async () => {
  await using database = await freshDatabase()
  await using owner = await sessionOn(database.url)
  await migrateUp(owner, namespace())

  await expect(grantRole(owner, namespace(), 'nobody here')).rejects.toMatchObject({
    code: 'INVALID_NAME',
    message: expect.stringContaining('create role "nobody here" login'),
  })
})
