import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineHandlers, defineJob, migrations, open, typed } from 'millrace'
import type { Mill } from 'millrace'
import { millrace } from '../support/command-line.ts'
import type { CommandResult } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'

let database: FreshDatabase
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase()
})

afterAll(() => database.drop())

interface Bench extends AsyncDisposable {
  readonly mill: Mill
  readonly run: (...words: string[]) => Promise<CommandResult>
}

/** A schema with tables, a client of it, and the command that works on it. */
async function setup(): Promise<Bench> {
  schemas += 1
  const schema = `change_${schemas}`
  await using tables = migrations(database.url, { schema })
  await tables.up()
  const mill = await open(database.url, { schema })
  return {
    mill,
    run: (...words) => millrace([...words, '-d', database.url, '-s', schema]),
    [Symbol.asyncDispose]: () => mill.close(),
  }
}

const visit = defineJob('visit', { input: typed<string>() })
const UNKNOWN = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

test('jobs cancel ends jobs by id or by options, and says how many', async () => {
  await using bench = await setup()
  const { mill, run } = bench
  const { id } = await mill.enqueue(visit, 'a')
  await mill.enqueueMany(visit, ['b', 'c'], { queue: 'mail' })

  const one = await run('jobs', 'cancel', id, UNKNOWN, '--by', 'ada', '--why', 'no use')
  const dry = await run('jobs', 'cancel', '--queue', 'mail', '--dry-run')
  const many = await run('jobs', 'cancel', '--queue', 'mail', '--json')
  const again = await run('jobs', 'cancel', id)

  expect(one).toEqual({ code: 0, out: 'cancelled, or asked to end: 1 of 1\n', err: '' })
  expect(dry).toMatchObject({ code: 0, out: '2 would be meant\n' })
  expect(JSON.parse(many.out)).toEqual({ matched: 2, applied: 2 })
  expect(again).toMatchObject({ code: 1, out: 'cancelled, or asked to end: 0 of 1\n' })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'cancelled', by: 'ada', why: 'no use' })
})

test('jobs retry puts what ended back into line', async () => {
  await using bench = await setup()
  const { mill, run } = bench
  const { id } = await mill.enqueue(visit, 'a')
  await mill.jobs.cancel(id)
  expect(await run('jobs', 'retry', '--state', 'cancelled')).toMatchObject({
    code: 0,
    out: 'back in line: 1 of 1\n',
  })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending' })
  expect(await run('jobs', 'retry', UNKNOWN)).toMatchObject({ code: 1 })
})

test('jobs reschedule moves pending jobs', async () => {
  await using bench = await setup()
  const { mill, run } = bench
  const { id } = await mill.enqueue(visit, 'a')
  const moved = await run('jobs', 'reschedule', id, '--at', '2100-01-01', '--priority', 'high')
  expect(moved).toMatchObject({ code: 0, out: 'rescheduled 1 of 1\n' })
  expect(await mill.jobs.get(id)).toMatchObject({ dueAt: new Date('2100-01-01'), priority: 2 })
})

test('jobs wait shows how a job ended; exits 1 unless it completed, also when time is up', async () => {
  await using bench = await setup()
  const { mill, run } = bench
  const { id } = await mill.enqueue(visit, 'a')
  const late = await run('jobs', 'wait', id, '--timeout', '100ms')
  await using worker = mill.worker().use(defineHandlers().handle(visit, () => undefined))
  await worker.start()
  const done = await run('jobs', 'wait', id, '--json')
  await mill.jobs.cancel((await mill.enqueue(visit, 'b', { delay: '1h', id: UNKNOWN })).id)

  expect(late).toMatchObject({ code: 1, out: '' })
  expect(late.err).toContain('WAIT_TIMEOUT')
  expect(done.code).toBe(0)
  expect(JSON.parse(done.out)).toMatchObject({ id, state: 'completed' })
  expect(await run('jobs', 'wait', UNKNOWN)).toMatchObject({ code: 1 })
})

test('cleanup removes records of ended jobs', async () => {
  await using bench = await setup()
  const { mill, run } = bench
  const jobs = await mill.enqueueMany(visit, ['a', 'b'])
  await mill.jobs.cancel(jobs.map(({ id }) => id))

  const dry = await run('cleanup', '--older-than', '0s', '--dry-run', '--json')
  const none = await run('cleanup', '--finished-before', '2020-01-01', '--kind', 'visit')
  const done = await run('cleanup', '--older-than', '1ms', '--state', 'cancelled')

  expect(JSON.parse(dry.out)).toEqual({ matched: 2, applied: 0 })
  expect(none).toMatchObject({ code: 0, out: 'removed 0 of 0\n' })
  expect(done).toMatchObject({ code: 0, out: 'removed 2 of 2\n' })
})

test.each([
  [['jobs', 'cancel'], 'say which jobs'],
  [['jobs', 'cancel', UNKNOWN, '--kind', 'visit'], 'Give one'],
  [['jobs', 'cancel', 'x'], 'pass the id'],
  [['jobs', 'retry', '--state', 'gone'], 'give pending'],
  [['jobs', 'reschedule', UNKNOWN], 'give one of at, delay and priority'],
  [['jobs', 'reschedule', UNKNOWN, '--at', '2100-01-01', '--delay', '1s'], 'Give one'],
  [['jobs', 'reschedule', UNKNOWN, '--priority', '10'], '0 (first) to 9'],
  [['jobs', 'wait', 'x'], 'pass the id'],
  [['cleanup'], '--older-than 30d'],
  [['cleanup', '--older-than', '1d', '--state', 'running'], 'Allowed choices'],
])('what cannot be is refused with exit code 2: %j', async (words, why) => {
  await using bench = await setup()
  const { code, out, err } = await bench.run(...words)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(why)
})
