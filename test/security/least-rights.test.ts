import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantRole } from '../../src/database/grants.ts'
import { namespace } from '../../src/database/namespace.ts'
import { defineJob, defineOutbox, migrations, open, typed } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { runSql } from '../support/sql.ts'
import { orders } from '../support/streams.ts'
import { until } from '../support/until.ts'

let database: FreshDatabase
let role: string
let url: string

beforeAll(async () => {
  database = await freshDatabase()
  role = `runtime_${database.name}`
  await using tables = migrations(database.url)
  await tables.up()
  await runSql(
    database.url,
    `create role ${role} login password 'secret';
     revoke all on schema public from public;
     create table owners_only (id int)`,
  )
  await using owner = await sessionOn(database.url)
  await grantRole(owner, namespace(), role)
  const own = new URL(database.url)
  own.username = role
  own.password = 'secret'
  url = own.href
})
afterAll(async () => {
  await runSql(database.url, `drop owned by ${role}; drop role ${role}`)
  await database.drop()
})

test('G1: a role with the rights of `migrate grants` does all that a client does', async () => {
  await using mill = await open(url, { logger: false, events: true })
  const greet = defineJob('greet', {
    input: typed<string>(),
    carry: { n: 0 },
    dedup: (name) => name,
  })
  const twice = defineJob('twice')
  const letters = defineOutbox('letters', { message: typed<string>() })
  const delivered: string[] = []
  const worker = mill
    .worker()
    .handle(greet, (_input, run) => {
      run.carry.n += 1
      run.note('greeted')
      if (run.number === 1) return run.pause({ for: 1 })
      return undefined
    })
    .handle(twice, async (_input, run) =>
      run.transaction(async (tx) => void (await tx.query('select 1'))),
    )
    .deliver(letters, (letter) => void delivered.push(letter))
  await worker.start()
  const first = await mill.enqueue(greet, 'ada')
  await mill.enqueue(greet, 'ada', { delay: '1h' })
  const second = await mill.enqueue(twice)
  await mill.jobs.wait(greet, first.id, { timeout: '20s' })
  await mill.jobs.wait(twice, second.id, { timeout: '20s' })
  const { id } = await mill.enqueue(twice, undefined, { delay: '1h' })
  await mill.jobs.reschedule(id, { delay: '2h' })
  await mill.jobs.cancel(id)
  await mill.jobs.retry(id)
  await mill.jobs.explain(id)
  await mill.jobs.stats()
  await mill.jobs.cleanup({ finishedBefore: new Date(0) })
  await collect(mill.jobs.journal(first.id))
  await mill.queues.pause('mail')
  await mill.queues.set('mail', { priority: 'low' })
  await mill.queues.resume('mail')
  await mill.schedule('daily', { cron: '0 6 * * *', kind: twice })
  await mill.schedules.runNow('daily')
  await mill.schedules.remove('daily')
  await mill.notify('news', 'hello')
  await mill.publish(orders, { n: 1 })
  for await (const event of mill.subscribe(orders, { as: 'reader', from: 'start' })) {
    expect(event.offset).toBe(1)
    break
  }
  const stop = new AbortController()
  await mill.consume(orders, { as: 'sums', signal: stop.signal }, async (_events, tx) => {
    await tx.query('select 1')
    stop.abort()
  })
  await mill.streams.trim(orders, { before: 1 })
  await mill.send(letters, 'one', { key: 'ada' })
  await mill.send(letters, 'two', { key: 'ada' })
  await until(() => delivered.length === 2)
  await mill.outboxes.skip(letters, 'ada')
  await mill.schedules.list()
  const lock = await mill.lock('one', { ttl: '10s' })
  await lock.renew('20s')
  await lock.release()
  await until(async () => (await mill.jobs.list({ state: 'completed' }).page()).items.length > 2)
  await worker.stop()
})

test.each([
  'create table millrace.mine (id int)',
  'create schema mine',
  'alter table millrace.jobs add column mine int',
  'truncate millrace.jobs',
  'drop function millrace.enqueue',
  'create index on millrace.jobs (kind)',
  'create trigger mine before insert on millrace.jobs execute function millrace.enqueue()',
  'create function millrace.mine() returns int language sql as $$ select 1 $$',
  'update millrace.migrations set checksum = $$x$$',
  'insert into millrace.migrations select * from millrace.migrations',
  'select * from public.owners_only',
  'comment on table millrace.jobs is $$mine$$',
])('G1: such a role cannot %s', async (statement) => {
  await expect(runSql(url, statement)).rejects.toThrow(/permission denied|must be owner/)
})

test('G1: every table and view of the migrations is granted, and nothing to everybody', async () => {
  const rights = await runSql(
    database.url,
    `select c.relname as name, c.relkind::text as kind,
       (select string_agg(a.privilege_type, ' ' order by a.privilege_type)
        from aclexplode(c.relacl) a where a.grantee = $1::regrole) as granted,
       exists (select from aclexplode(c.relacl) a where a.grantee = 0) as is_public
     from pg_class c
     where c.relnamespace = 'millrace'::regnamespace and c.relkind in ('r', 'v', 'S')
     order by 1`,
    [role],
  )
  expect(rights.filter(({ is_public: isPublic }) => isPublic === true)).toEqual([])
  for (const { name, kind, granted } of rights) {
    const expected =
      kind === 'v' || name === 'migrations' ? 'SELECT' : 'DELETE INSERT SELECT UPDATE'
    // Identity columns own their sequences: who may insert may take their numbers.
    expect([name, granted]).toEqual([name, kind === 'S' ? null : expected])
  }
  expect(rights.length).toBeGreaterThan(20)
})
