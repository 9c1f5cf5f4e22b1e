import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit')
const guest = defineJob('guest')

test('a worker tells of itself at its start, again each minute, and not after its stop', async () => {
  await using t = await manualSetup()
  const { mill, sql, clock } = t
  const runs = gate()
  const told = async () => (await sql.query('select * from workers')).rows
  const worker = mill
    .worker({ queues: { mail: 3, rest: 9 }, concurrency: 12 })
    .handle(visit, (_, run) => runs.enter(run.id), { concurrency: 2 })
    .handle(guest, () => undefined)
  await worker.start()
  await until(async () => (await told()).length === 1)
  const begun = new Date(clock.now())
  expect(await told()).toEqual([
    {
      worker: worker.id,
      started_at: begun,
      seen_at: begun,
      concurrency: 12,
      busy: 0,
      queues: { mail: 3, rest: 9 },
      kinds: { visit: 2, guest: null },
    },
  ])
  await mill.enqueue(visit, undefined, { queue: 'mail' })
  await until(() => runs.now === 1)
  clock.advance(60_000)
  await until(async () => (await told())[0].busy === 1)
  expect(await told()).toMatchObject([{ started_at: begun, seen_at: new Date(clock.now()) }])
  runs.open()
  await worker.stop()
  expect(await told()).toEqual([])
})

test('the row of a worker that went away without a word stays a day', async () => {
  await using t = await manualSetup()
  const { mill, sql, clock } = t
  await sql.query(
    `insert into workers (worker, started_at, seen_at, concurrency, busy, queues, kinds)
     values ('gone', $1, $1, 1, 1, '{}', '{}'), ('missed', $2, $2, 1, 1, '{}', '{}')`,
    [new Date(clock.now() - 86_400_001), new Date(clock.now() - 86_399_999)],
  )
  const names = async () => (await sql.query('select worker from workers order by 1')).rows
  const worker = mill.worker().handle(visit, () => undefined)
  await worker.start()
  await until(async () => (await names()).length === 2)
  expect(await names()).toEqual(expect.arrayContaining([{ worker: 'missed' }]))
  await worker.stop()
  expect(await names()).toEqual([{ worker: 'missed' }])
})

test('names of kinds and queues are told as they are', async () => {
  await using t = await setup()
  const queue = `a "queue", {} \\ é __proto__`
  const odd = defineJob('__proto__')
  const worker = t.mill.worker({ queues: [queue] }).handle(odd, () => undefined)
  await worker.start()
  await until(async () => {
    const { rows } = await t.sql.query('select queues::text, kinds::text from workers')
    expect(rows).toEqual([
      { queues: JSON.stringify({ [queue]: null }), kinds: '{"__proto__":null}' },
    ])
    return true
  })
})

test('an idle worker with a listener tells of itself and of nothing else within a second', async () => {
  await using t = await setup()
  const worker = t.mill.worker().handle(visit, () => undefined)
  await worker.start()
  using statements = watchStatements(t.schema)
  await statements.quiet(1_500)
  expect(statements.count('tell_worker')).toBeLessThanOrEqual(1)
  expect(statements.count('read_queues')).toBeLessThanOrEqual(3)
})
