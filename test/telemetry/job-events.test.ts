import { expect, test } from 'vitest'
import { jobEvents } from '../../src/core/job-events.ts'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { watchJobEvents } from '../support/job-events.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })

test('H6: an event says which job, which run, who and when, and never a payload', async () => {
  await using t = await manualSetup()
  const { mill, schema, clock } = t
  using watched = watchJobEvents(schema)
  const { id } = await mill.enqueue(visit, 'secret', { queue: 'mail' })
  clock.advance(5)
  const [handle] = await mill.claim({ kinds: [visit], queues: ['mail'] })
  await handle?.complete()

  const job = { origin: { schema, prefix: '' }, id, kind: 'visit', queue: 'mail' }
  const rest = { asked: null, inTransaction: false }
  const at = new Date(clock.now())
  const worker = expect.stringMatching(/^.+:\d+:\w+$/)
  expect(watched.all).toEqual([
    { ...job, ...rest, event: 'created', run: 0, worker: null, at: new Date(clock.now() - 5) },
    { ...job, ...rest, event: 'started', run: 1, worker, at },
    { ...job, ...rest, event: 'completed', run: 1, worker, at },
  ])
  expect(JSON.stringify(watched.all)).not.toContain('secret')
})

test('H6: a worker tells of everything that its runs come to', async () => {
  await using t = await setup()
  const { mill } = t
  using watched = watchJobEvents(t.schema)
  const worker = mill.worker().handle(visit, async (what, run) => {
    if (what === 'again' && run.number === 1) throw new Error('not yet')
    if (what === 'never') throw new Error('no')
    if (what === 'rest' && run.number === 1) run.pause({ for: 1 })
    if (what === 'inside') await run.transaction(async () => {})
    if (what === 'chain') await run.enqueue(visit, 'plain', { queue: 'elsewhere' })
  })
  const retry = { failures: 2, backoff: { type: 'fixed', base: 1 } } as const
  const ids = new Map<string, string>()
  for (const what of ['plain', 'again', 'never', 'rest', 'inside', 'chain']) {
    ids.set(what, (await mill.enqueue(visit, what, { retry })).id)
  }
  await worker.start()
  for (const id of ids.values()) await mill.jobs.wait(id)
  await worker.stop()

  const told = Object.fromEntries([...ids].map(([what, id]) => [what, watched.of(id).join(' ')]))
  expect(told).toEqual({
    plain: 'created started completed',
    again: 'created started retried started completed',
    never: 'created started retried started dead',
    rest: 'created started paused started completed',
    inside: 'created started completed',
    chain: 'created started completed',
  })
  const others = watched.all.filter(({ id }) => ![...ids.values()].includes(id))
  expect(others).toMatchObject([{ event: 'created', queue: 'elsewhere' }])
})

test('H6: a stop releases, and another worker recovers what was lost, each told by who did it', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  using watched = watchJobEvents(t.schema)
  using runs = gate()
  const first = mill.worker().handle(visit, (_, run) => runs.enter(run.id))
  await first.start()
  const { id } = await mill.enqueue(visit, 'a', { lease: '10s' })
  await until(() => runs.now === 1)
  await first.stop({ grace: 0 })
  expect(watched.of(id)).toEqual(['created', 'started', 'released'])

  const [lost] = await mill.claim({ kinds: [visit] })
  expect(lost?.id).toBe(id)
  clock.advance(12_000)
  const second = mill.worker().handle(visit, () => undefined)
  await second.start()
  const recovered = await until(() => watched.all.find(({ event }) => event === 'recovered'))
  expect(recovered).toMatchObject({ id, run: 2 })
  expect(recovered.worker).not.toBe(second.id)
  await second.stop()
})

test('H6: cancels and expiries are told where the job ends, not where the end is only asked for', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  using watched = watchJobEvents(t.schema)
  const pending = await mill.enqueue(visit, 'pending')
  await mill.jobs.cancel(pending.id)
  expect(watched.of(pending.id)).toEqual(['created', 'cancelled'])

  const running = await mill.enqueue(visit, 'running')
  const [handle] = await mill.claim({ kinds: [visit] })
  await mill.jobs.cancel(running.id)
  expect(watched.of(running.id)).toEqual(['created', 'started'])
  await handle?.retry()
  expect(watched.of(running.id)).toEqual(['created', 'started', 'cancelled'])

  const forced = await mill.enqueue(visit, 'forced')
  await mill.claim({ kinds: [visit] })
  await mill.jobs.cancel(forced.id, { force: true })
  expect(watched.of(forced.id)).toEqual(['created', 'started', 'cancelled'])

  const late = await mill.enqueue(visit, 'late', { expires: '1s' })
  clock.advance(1_000)
  const worker = mill.worker({ queues: ['elsewhere'] }).handle(visit, () => undefined)
  await worker.start()
  await until(() => watched.of(late.id).includes('dead'))
  expect(watched.all.at(-1)).toMatchObject({ event: 'dead', id: late.id, run: 0, worker: null })
})

test('H6: an ask that another job stands for is merged, with its id; a repeat is not told', async () => {
  await using t = await setup()
  const { mill } = t
  const sync = defineJob('sync', { input: typed<number>(), dedup: 'all' })
  using watched = watchJobEvents(t.schema)
  const first = await mill.enqueue(sync, 1)
  const second = await mill.enqueue(sync, 2)
  await mill.enqueue(sync, 3, { id: second.asked })
  await mill.enqueueMany(visit, ['a', 'b'])
  expect(watched.all.map(({ event, id, asked }) => [event, id, asked]).slice(0, 2)).toEqual([
    ['created', first.id, null],
    ['merged', first.id, second.asked],
  ])
  expect(watched.all.slice(2).map(({ event, kind }) => [event, kind])).toEqual([
    ['merged', 'sync'],
    ['created', 'visit'],
    ['created', 'visit'],
  ])
})

test('H6: what is written in a transaction of yours says that it may be taken back', async () => {
  await using t = await setup()
  using watched = watchJobEvents(t.schema)
  const sql = await t.session()
  await sql.query('begin')
  await t.mill.in(sql).enqueue(visit, 'a')
  await t.mill.in(sql).enqueueMany(visit, ['b'])
  await sql.query('rollback')
  expect(watched.all.map(({ event, inTransaction }) => [event, inTransaction])).toEqual([
    ['created', true],
    ['created', true],
  ])
})

test('H6: nobody subscribed, nothing is published; a subscriber of another client hears its own', async () => {
  await using t = await setup()
  await using other = await setup()
  using watched = watchJobEvents(other.schema)
  await t.mill.enqueue(visit, 'a')
  await other.mill.enqueue(visit, 'a')
  expect(watched.all).toHaveLength(1)
  let asked = 0
  const events = jobEvents({ schema: 's', prefix: '' }, () => (asked += 1))
  watched[Symbol.dispose]()
  events.tell('created', { id: 'a', kind: 'b', queue: 'c' })
  expect(asked).toBe(0)
})
