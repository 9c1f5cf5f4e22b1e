import { decodeTime } from 'ulid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isId } from '../../src/core/id.ts'
import { namespace } from '../../src/database/namespace.ts'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

let t: Setup
beforeAll(async () => {
  t = await setup()
})
afterAll(() => t.close())

const greet = defineJob('greet', { input: typed<{ n: number }>() })

/** Calls the function with SQL arguments and answers the id. */
async function enqueue(args: string): Promise<string> {
  const { rows } = await t.sql.query<{ id: string }>(`select enqueue(${args}) as id`)
  return rows[0]?.id ?? ''
}

test('E7: it answers a well-formed ULID that says when it was made', async () => {
  const before = await t.sql.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  const ids = [await enqueue(`'greet'`), await enqueue(`'greet'`)]
  const after = await t.sql.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  for (const id of ids) {
    expect(isId(id)).toBe(true)
    expect(decodeTime(id)).toBeGreaterThanOrEqual(Math.floor(before.rows[0]?.ms ?? 0))
    expect(decodeTime(id)).toBeLessThanOrEqual(after.rows[0]?.ms ?? 0)
  }
})

test('E7: all of the 80 random bits are random', async () => {
  const { rows } = await t.sql.query<{ random: string }>(
    `select distinct substr(enqueue('greet'), 11) as random from generate_series(1, 500)`,
  )
  expect(rows).toHaveLength(500)
  for (let digit = 0; digit < 16; digit += 1) {
    const seen = new Set(rows.map(({ random }) => random[digit]))
    expect(seen.size).toBeGreaterThan(25)
  }
})

test('E7: it stamps the same defaults as enqueue', async () => {
  const [byFunction, byClient] = [
    await enqueue(`'greet', '{"n":1}'`),
    (await t.mill.enqueue(greet, { n: 1 })).id,
  ]
  const { rows } = await t.sql.query(
    `select j.kind, j.queue, j.payload::text as payload, j.priority, j.options, j.dedup_key, j.schedule,
       r.queue as ready_queue, r.kind as ready_kind, r.priority as ready_priority, r.lease_ms, r.run, r.failures,
       r.reason, r.expires_at, r.sibling, r.due_at = j.created_at as is_due_at_once
     from jobs j join ready r on r.job_id = j.id where j.id = any ($1) order by j.id`,
    [[byFunction, byClient]],
  )
  expect(rows).toHaveLength(2)
  expect(rows[0]).toEqual(rows[1])
})

test('E7: a job of it runs like any other', async () => {
  const worker = t.mill.worker().handle(greet, () => {})
  await worker.start()
  const id = await enqueue(`'greet', '{"n":1}'`)
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  await worker.stop()
})

test('E7: queue, priority, due_at and id are as given, an instant that has passed means now', async () => {
  const id = '01JZZZZZZZZZZZZZZZZZZZZZZ1'
  await enqueue(`'greet', 'null', 'mail', 2, '2100-01-01T00:00:00Z', '${id}'`)
  expect(await t.mill.jobs.get(id)).toMatchObject({
    queue: 'mail',
    priority: 2,
    dueAt: new Date('2100-01-01T00:00:00Z'),
    waiting: 'scheduled',
  })
  const past = await enqueue(`'greet', due_at => '2000-01-01T00:00:00Z'`)
  const job = await t.mill.jobs.get(past)
  expect(job).toMatchObject({ state: 'pending', dueAt: job?.createdAt })
})

test('E7: the same id again changes nothing, also between the function and the client', async () => {
  const id = '01JZZZZZZZZZZZZZZZZZZZZZZ2'
  expect(await enqueue(`'greet', '{"n":1}', id => '${id}'`)).toBe(id)
  expect(await enqueue(`'greet', '{"n":2}', id => '${id}'`)).toBe(id)
  expect(await t.mill.enqueue(greet, { n: 3 }, { id })).toMatchObject({ outcome: 'kept' })
  expect(await t.mill.jobs.get(greet, id)).toMatchObject({ input: { n: 1 } })
  await assertOnePlace(t.sql, t.schema)
})

test('E7: a json text comes back exactly, with its double keys and long numbers', async () => {
  const payload = '{"b":1, "a":1.10, "a":12345678901234567890 , "u":"\\u0000"}'
  const { rows } = await t.sql.query<{ id: string }>(
    `select enqueue('greet', $1::text::json) as id`,
    [payload],
  )
  const stored = await t.sql.query('select payload::text as payload from jobs where id = $1', [
    rows[0]?.id,
  ])
  expect(stored.rows).toEqual([{ payload }])
})

test('E7: it takes part in the transaction, and says so on the channel only at its commit', async () => {
  const heard: string[] = []
  const listener = await t.session()
  listener.on('notification', ({ payload = '' }) => heard.push(payload))
  await listener.query(`listen ${namespace(t.schema).channel}`)

  await t.sql.query('begin')
  const gone = await enqueue(`'greet', queue => 'rolled back'`)
  await t.sql.query('rollback')
  await t.sql.query('begin')
  await enqueue(`'greet', queue => 'far', due_at => now() + interval '1 hour'`)
  const soon = await enqueue(
    `'greet', queue => 'two words', due_at => now() + interval '20 seconds'`,
  )
  await t.sql.query('commit')
  await until(() => heard.length > 0)

  expect(await t.mill.jobs.get(gone)).toBeNull()
  const due = await t.mill.jobs.get(soon)
  if (due?.state !== 'pending') throw new Error('the job does not wait')
  expect(heard).toEqual([`due ${due.dueAt.getTime()} two words`])
})

test('E7: in a trigger every row of the statement is a job', async () => {
  await t.sql.query(`
    create table orders (id int, total numeric);
    create function order_placed() returns trigger language plpgsql as $$
    begin
      perform ${t.schema}.enqueue('order-placed', json_build_object('id', new.id), queue => 'orders');
      return new;
    end $$;
    create trigger placed after insert on orders for each row execute function order_placed();
    insert into orders select n, n from generate_series(1, 25) n;
  `)
  const jobs = []
  for await (const job of t.mill.jobs.list({ kind: 'order-placed' }, { order: 'oldest' }))
    jobs.push(job)
  expect(jobs.map(({ input }) => input)).toHaveLength(25)
  expect(jobs[0]).toMatchObject({ queue: 'orders', state: 'pending' })
})

describe('E7: it refuses, with the value and the rule,', () => {
  test.each([
    [`''`, "'' cannot be a kind"],
    [`' '`, "' ' cannot be a kind"],
    ['null', 'NULL cannot be a kind'],
    [`repeat('x', 201)`, 'cannot be a kind: 1 to 200 bytes'],
    [`'millrace.own'`, "'millrace.own' cannot be a kind"],
    [`'greet', 'null', ''`, "'' cannot be a queue"],
    [`'greet', 'null', repeat('é', 101)`, 'cannot be a queue'],
    [`'greet', priority => 10`, 'priority 10 is not between 0 and 9'],
    [`'greet', priority => null`, 'priority <NULL> is not between 0 and 9'],
    [`'greet', null`, 'payload is NULL'],
    [`'greet', id => '01arz3ndektsv4rrffq69g5fav'`, 'is not a ULID in canonical text'],
    [`'greet', id => ''`, "'' is not a ULID"],
  ])('enqueue(%s)', async (args, message) => {
    const before = await places(t.sql, t.schema)
    await expect(enqueue(args)).rejects.toThrow(message)
    expect(await places(t.sql, t.schema)).toEqual(before)
  })
})
