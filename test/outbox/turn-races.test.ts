import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { bind } from '../../src/database/statement.ts'
import { namespace } from '../../src/database/namespace.ts'
import { defineOutbox } from '../../src/outbox/outbox.ts'
import { skipHalted } from '../../src/outbox/outbox-admin-statements.ts'
import { takeTurns } from '../../src/outbox/turn-statements.ts'
import type { TurnRow } from '../../src/outbox/turn-statements.ts'
import { redriveJobs } from '../../src/jobs/redrive-statements.ts'
import { untilBlocked } from '../support/blocked.ts'
import { assertOnePlace, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'

const mails = defineOutbox('mails', { message: typed<string>(), key: () => 'k', onDead: 'halt' })
const KEYS = JSON.stringify([{ kind: 'mails', key: 'k' }])

/** Gives turns in a session of the test's own, as a worker would. */
async function give(t: Setup, session: Client, keys = '[]'): Promise<TurnRow | undefined> {
  const params = { keys, most: 100, hint_until: '-infinity', now: new Date().toISOString() }
  const { text, values } = bind(takeTurns, params, namespace(t.schema))
  const { rows } = await session.query<TurnRow>(text, [...values])
  return rows[0]
}

/** Ends a pending message as a run that ended so would, and tells nobody. */
async function end(t: Setup, id: string, state: 'completed' | 'dead'): Promise<void> {
  await t.sql.query(
    `with gone as (delete from ready where job_id = $1 returning *)
     insert into finished (job_id, state, reason, kind, queue, run, failures, finished_at)
     select job_id, $2::text, case $2::text when 'dead' then 'failed' end, kind, queue, 1, 0, now() from gone`,
    [id, state],
  )
}

async function due(t: Setup): Promise<readonly string[]> {
  const { rows } = await t.sql.query<{ payload: string }>(
    `select j.payload::text as payload from ready r join jobs j on j.id = r.job_id
     where r.due_at < 'infinity' order by 1`,
  )
  return rows.map(({ payload }) => payload.replaceAll('"', ''))
}

async function send(t: Setup, ...names: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = []
  for (const name of names) ids.push((await t.mill.send(mails, name)).id)
  return ids
}

test('B1: two sessions give the turn of one key at once: one message has it', async () => {
  await using t = await setup()
  await send(t, 'a')
  const [one, other] = [await t.session(), await t.session()]
  await one.query('begin')
  expect(await give(t, one)).toMatchObject({ given: 1 })
  await send(t, 'b')
  const second = give(t, other)
  await untilBlocked(t.sql)
  await one.query('commit')
  // It did not decide, so what arrived is still there to be decided.
  expect(await second).toMatchObject({ given: 0, is_more: true })
  expect(await due(t)).toEqual(['a'])
  expect(await give(t, other)).toMatchObject({ given: 0, is_more: false })
  expect(await due(t)).toEqual(['a'])
  await assertOnePlace(t.sql, t.schema)
})

test('B1: a session that gave the turn and did not commit is passed by when it dies', async () => {
  await using t = await setup()
  await send(t, 'a')
  const [one, other] = [await t.session(), await t.session()]
  await one.query('begin')
  await give(t, one)
  expect(await give(t, other)).toMatchObject({ given: 0, is_busy: true })
  await one.query('rollback')
  expect(await give(t, other)).toMatchObject({ given: 1 })
})

test('B1: what arrives while a session finds the line empty gets its turn all the same', async () => {
  await using t = await setup()
  const [a = ''] = await send(t, 'a')
  const [one, other] = [await t.session(), await t.session()]
  await give(t, one)
  await end(t, a, 'completed')
  await one.query('begin')
  expect(await give(t, one, KEYS)).toMatchObject({ given: 0 })
  await send(t, 'b')
  // The head is locked by the first: undecided, and looked at again.
  expect(await give(t, other)).toMatchObject({ given: 0, is_more: true })
  await one.query('commit')
  expect(await give(t, other)).toMatchObject({ given: 1 })
  expect(await due(t)).toEqual(['b'])
})

test('B1: a statement that stands still in the middle while the world goes on gives no second turn', async () => {
  await using t = await setup()
  const other = defineOutbox('mails', { message: typed<string>(), key: () => 'x' })
  const [a = ''] = await send(t, 'a', 'b')
  const [late, holder] = [await t.session(), await t.session()]
  await give(t, t.sql)
  await end(t, a, 'completed')
  const { id: x } = await t.mill.send(other, 'x1')
  // It stops in the move of key k, with the snapshot in which x1 is first and key x has no head.
  await t.sql.query(`
    create function stand_still() returns trigger language plpgsql as
      $$begin perform pg_advisory_xact_lock(77); return new; end$$;
    create trigger stand_still before update on outbox_heads
      for each row when (new.key = 'k') execute function stand_still()`)
  await holder.query('select pg_advisory_lock(77)')
  const moving = give(t, late, KEYS)
  await untilBlocked(t.sql)
  // Key x meanwhile, by others, from its first turn to its end: the line is empty again.
  const keys = JSON.stringify([{ kind: 'mails', key: 'x' }])
  expect(await give(t, t.sql, keys)).toMatchObject({ given: 1 })
  await end(t, x, 'completed')
  await give(t, t.sql, keys)
  expect((await t.sql.query(`select from outbox_heads where key = 'x'`)).rows).toEqual([])
  await holder.query('select pg_advisory_unlock(77)')
  expect(await moving).toMatchObject({ given: 1, is_more: true })
  expect(await due(t)).toEqual(['b'])
  // What it gave in vain stops nobody.
  await t.mill.send(other, 'x2')
  expect(await give(t, t.sql)).toMatchObject({ given: 1 })
  expect(await due(t)).toEqual(['b', 'x2'])
  await assertOnePlace(t.sql, t.schema)
})

test('B1: a head that was locked and changed in between is left as it is', async () => {
  await using t = await setup()
  const [a = ''] = await send(t, 'a', 'b')
  const [one, other] = [await t.session(), await t.session()]
  await give(t, one)
  await end(t, a, 'completed')
  await one.query('begin')
  expect(await give(t, one, KEYS)).toMatchObject({ given: 1 })
  expect(await give(t, other, KEYS)).toMatchObject({ given: 0, is_more: true })
  await one.query('commit')
  expect(await due(t)).toEqual(['b'])
  expect(await give(t, other, KEYS)).toMatchObject({ given: 0, is_more: false })
})

test('B1: a message that is cancelled while it is given its turn passes the turn on', async () => {
  await using t = await setup()
  const [a = ''] = await send(t, 'a', 'b')
  const [one, other] = [await t.session(), await t.session()]
  await other.query('begin')
  await other.query('select from ready where job_id = $1 for update', [a])
  // Whoever cancels holds the row: the turn is given, in vain so far, and that is said.
  expect(await give(t, one)).toMatchObject({ given: 0, is_more: true })
  await other.query('commit')
  await t.mill.jobs.cancel(a)
  expect(await give(t, one, KEYS)).toMatchObject({ given: 1, is_more: false })
  expect(await due(t)).toEqual(['b'])
})

test('B1: messages cancelled in the middle of a line are passed over, however many', async () => {
  await using t = await setup()
  const names = Array.from({ length: 25 }, (_, nth) => `cancelled ${nth}`)
  const [first = '', ...ids] = await send(t, 'first', ...names, 'last')
  await give(t, t.sql)
  await t.mill.jobs.cancel(ids.slice(0, 25))
  await end(t, first, 'completed')
  const answers: unknown[] = []
  for (let nth = 0; nth < 4; nth += 1) answers.push((await give(t, t.sql, KEYS))?.given)
  expect(answers).toEqual([0, 0, 1, 0])
  expect(await due(t)).toEqual(['last'])
})

test('B1: a dead head that is redriven while it is passed over is not lost', async () => {
  await using t = await setup()
  const [a = ''] = await send(t, 'a', 'b')
  await give(t, t.sql)
  await end(t, a, 'dead')
  const [one, other] = [await t.session(), await t.session()]
  const now = new Date().toISOString()
  const at = namespace(t.schema)
  const skip = bind(skipHalted, { outbox: 'mails', key: 'k', hint_until: '-infinity', now }, at)
  const redrive = bind(
    redriveJobs,
    { ids: `{${a}}`, states: '{dead}', by: null, hint_until: '-infinity', now },
    at,
  )
  await one.query('begin')
  await one.query(redrive.text, [...redrive.values])
  const skipped = other.query(skip.text, [...skip.values])
  await untilBlocked(t.sql)
  await one.query('commit')
  expect((await skipped).rows).toEqual([])
  expect(await give(t, t.sql)).toMatchObject({ given: 1 })
  expect(await due(t)).toEqual(['a'])
  await end(t, a, 'dead')
  // The other way round: passed over first, then redriven behind its back.
  await one.query('begin')
  await one.query(skip.text, [...skip.values])
  const redriven = other.query(redrive.text, [...redrive.values])
  await untilBlocked(t.sql)
  await one.query('commit')
  expect((await redriven).rows).toEqual([{ job_id: a }])
  expect(await give(t, t.sql)).toMatchObject({ given: 1 })
  expect(await due(t)).toEqual(['a'])
  await assertOnePlace(t.sql, t.schema)
})

test('B1: a waiting message that is rescheduled stays in its line', async () => {
  await using t = await setup()
  const [a = '', b = ''] = await send(t, 'a', 'b')
  await give(t, t.sql)
  expect(await t.mill.jobs.reschedule(b, { delay: 0 })).toEqual({ matched: 1, applied: 1 })
  expect(await due(t)).toEqual(['a'])
  await t.mill.jobs.reschedule(b, { delay: '1h' })
  await end(t, a, 'completed')
  await give(t, t.sql, KEYS)
  const [reason] = (await t.mill.jobs.explain(b)).reasons
  expect(reason).toMatchObject({ code: 'not-due', because: 'scheduled' })
})
