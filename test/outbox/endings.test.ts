import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { defineOutbox } from '../../src/outbox/outbox.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, manualSetup, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const message = typed<string>()
const mails = defineOutbox('mails', { message, key: () => 'k', retry: { failures: 1 } })

const loose = defineOutbox('loose', { message })

/** The head moves to its end, and nobody tells: as by a worker that died right after it. */
async function endSilently(t: Setup, from: 'ready' | 'leases', state: string): Promise<void> {
  await t.sql.query(
    `with gone as (delete from ${from} where job_id = (select job_id from outbox_heads) returning *)
     insert into finished (job_id, state, kind, queue, run, failures, finished_at)
     select job_id, $1, kind, queue, 1, 0, now() from gone`,
    [state],
  )
}

test('B1: a worker that died between the end of a head and the next turn is made good by another within a second', async () => {
  await using t = await setup()
  const names: string[] = []
  await t.mill.send(mails, 'a', { delay: '1h' })
  await t.mill.send(mails, 'b')
  await using worker = t.mill.worker().deliver(mails, (name) => void names.push(name))
  await worker.start()
  await until(async () => (await t.sql.query('select from outbox_heads')).rows.length === 1)
  const began = performance.now()
  await endSilently(t, 'ready', 'completed')
  await until(() => names.length === 1)
  expect(names).toEqual(['b'])
  // An upper bound for slow machines; the look comes each second.
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('B1: a head that is cancelled by force passes the turn on, and its run is void', async () => {
  await using t = await setup()
  const runs = gate()
  await using worker = t.mill.worker().deliver(mails, (name) => runs.enter(name))
  await worker.start()
  const { id } = await t.mill.send(mails, 'a')
  await t.mill.send(mails, 'b')
  await until(() => runs.now === 1)
  await t.mill.jobs.cancel(id, { force: true })
  await until(() => runs.names.length === 2)
  expect(runs.names).toEqual(['a', 'b'])
  runs.open()
  await until(async () => (await places(t.sql, t.schema)).finished === 2)
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'cancelled' })
})

test('B1: a head whose lease lapsed is recovered: dead at its limit, it passes the turn on', async () => {
  await using t = await setup()
  const names: string[] = []
  const { id } = await t.mill.send(mails, 'lost')
  await t.mill.send(mails, 'next')
  // Delivered by a worker that was killed an hour ago.
  await t.sql.query(`
    with gone as (delete from ready where job_id = '${id}' returning *),
    lapsed as (
      insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority, dedup_key)
      select job_id, 'a worker that died', queue, kind, now() - interval '1 hour', now() - interval '1 hour', now(), lease_ms, 1, 0, priority, dedup_key
      from gone
    )
    insert into outbox_heads (kind, key, job_id) values ('mails', 'k', '${id}')`)
  await using worker = t.mill.worker().deliver(mails, (name) => void names.push(name))
  await worker.start()
  await until(() => names.length === 1)
  expect(names).toEqual(['next'])
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed' })
  await until(async () => (await places(t.sql, t.schema)).finished === 2)
  await assertOnePlace(t.sql, t.schema)
})

test('B1: a delivery that is handed back at shutdown keeps its place in front', async () => {
  await using t = await setup()
  const runs = gate()
  const first = t.mill.worker().deliver(mails, (name) => runs.enter(name))
  await first.start()
  await t.mill.send(mails, 'a')
  await t.mill.send(mails, 'b')
  await until(() => runs.now === 1)
  await first.stop({ grace: 0 })
  const names: string[] = []
  await using second = t.mill.worker().deliver(mails, (name) => void names.push(name))
  await second.start()
  await until(() => names.length === 2)
  expect(names).toEqual(['a', 'b'])
})

test('B1: without hints messages are delivered too, one after another without waiting for a poll', async () => {
  await using t = await setup({ wake: 'poll' })
  const names: string[] = []
  await using worker = t.mill.worker({ poll: '1s' }).deliver(mails, (name) => void names.push(name))
  await worker.start()
  const all = Array.from({ length: 30 }, (_, nth) => String(nth))
  await Promise.all(all.map((name) => t.mill.send(mails, name)))
  const began = performance.now()
  await until(() => names.length === all.length)
  expect(names).toEqual(all)
  expect(performance.now() - began).toBeLessThan(15_000)
})

test('B1: places of dead and cancelled messages go with their records', async () => {
  await using t = await setup()
  const { id } = await t.mill.send(mails, 'a', { delay: '1h' })
  await t.mill.send(mails, 'b', { delay: '1h' })
  const first = t.mill.worker().deliver(mails, () => undefined)
  await first.start()
  await until(async () => (await t.sql.query('select from outbox_heads')).rows.length === 1)
  await t.mill.jobs.cancel(id)
  const isOver = async (): Promise<number> =>
    (await t.sql.query('select from outbox_line where is_over')).rows.length
  await until(async () => (await isOver()) === 1)
  await first.stop()
  await t.mill.jobs.cleanup({ finishedBefore: 0 })
  expect(await isOver()).toBe(1)
  await using second = t.mill.worker().deliver(mails, () => undefined)
  await second.start()
  await until(async () => (await isOver()) === 0)
})

test('B1: a worker that delivers no outbox asks nothing about them', async () => {
  await using t = await setup()
  using watched = watchStatements(t.schema)
  const plain = defineJob('plain', { input: typed<string>() })
  await using worker = t.mill.worker().handle(plain, () => undefined)
  await worker.start()
  await t.mill.send(mails, 'nobody delivers it')
  await t.mill.enqueue(plain, 'a job')
  await until(async () => (await places(t.sql, t.schema)).finished === 1)
  await watched.quiet()
  expect(watched.names).toContain('complete_alike_runs')
  expect(watched.count('take_turns')).toBe(0)
  expect(watched.count('ended_heads')).toBe(0)
})

test('B1: messages without a key ask for no turn', async () => {
  await using t = await setup()
  using watched = watchStatements(t.schema)
  await using worker = t.mill.worker().deliver(loose, () => undefined)
  await worker.start()
  await until(() => watched.count('take_turns') > 0)
  await watched.quiet()
  const turns = watched.count('take_turns')
  await t.mill.send(loose, 'no key')
  await until(async () => (await places(t.sql, t.schema)).finished === 1)
  await watched.quiet()
  expect(watched.count('take_turns')).toBe(turns)
})

test('B1: many messages that arrive at once are taken in without pauses between the statements', async () => {
  await using t = await setup()
  using watched = watchStatements(t.schema)
  const held = await t.session()
  await held.query('begin')
  for (let nth = 0; nth < 1_000; nth += 1) {
    await t.mill.in(held).send(mails, String(nth), { key: `key ${nth % 500}` })
  }
  await held.query('commit')
  const last = new Map<string, number>()
  const disorder: string[] = []
  await using worker = t.mill.worker({ concurrency: 50 }).deliver(mails, (name, { key }) => {
    if ((last.get(key ?? '') ?? -1) > Number(name)) disorder.push(name)
    last.set(key ?? '', Number(name))
  })
  await worker.start()
  await until(async () => (await places(t.sql, t.schema)).finished === 1_000)
  expect(disorder).toEqual([])
  expect(last.size).toBe(500)
  expect(watched.count('take_turns')).toBeGreaterThan(5)
  await until(async () => (await t.sql.query('select from outbox_heads')).rows.length === 0)
  expect((await t.sql.query('select from outbox_line')).rows).toEqual([])
})

test('B1: a message that expired in the line is passed over, and one that expires at its turn passes it on', async () => {
  await using t = await manualSetup()
  const names: string[] = []
  await t.mill.queues.set('default', { expires: '90s' })
  await t.mill.send(mails, 'head', { delay: '2m' })
  await t.mill.send(mails, 'waits')
  await t.mill.queues.set('default', { expires: '1h' })
  await t.mill.send(mails, 'last')
  await using worker = t.mill.worker().deliver(mails, (name) => void names.push(name))
  await worker.start()
  await until(async () => (await t.sql.query('select from outbox_heads')).rows.length === 1)
  await until(
    () => {
      t.clock.advance(1_000)
      return names.length === 1
    },
    { every: 20 },
  )
  expect(names).toEqual(['last'])
  await until(async () => (await places(t.sql, t.schema)).finished === 3)
})

test('B1: a long line of cancelled messages is passed over without pauses', async () => {
  await using t = await setup()
  const held = await t.session()
  await held.query('begin')
  for (let nth = 0; nth < 400; nth += 1) await t.mill.in(held).send(mails, String(nth))
  await held.query('commit')
  await t.mill.send(mails, 'last')
  await t.mill.jobs.cancel({ kind: 'mails', createdBefore: await middleOf(t) })
  const names: string[] = []
  await using worker = t.mill.worker().deliver(mails, (name) => void names.push(name))
  await worker.start()
  await until(() => names.includes('last'))
  // One that was made in the same millisecond may not have been cancelled.
  expect(names.length).toBeLessThan(10)
})

/** Between the last message and those before it. */
async function middleOf(t: Setup): Promise<Date> {
  const { rows } = await t.sql.query<{ at: Date }>('select max(created_at) as at from jobs')
  return rows[0]?.at ?? new Date(0)
}
