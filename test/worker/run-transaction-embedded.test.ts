import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DatabaseError, defineJob, open, typed } from '../../src/index.ts'
import type { Mill } from '../../src/index.ts'
import { thrownBy } from '../support/booking.ts'
import { gate } from '../support/gate.ts'
import { startPglite } from '../support/pglite.ts'
import { until } from '../support/until.ts'

const book = defineJob('book', {
  input: typed<string>(),
  lease: '1s',
  retry: { failures: 2, backoff: { type: 'fixed', base: '100ms', jitter: 0 } },
})
const INSERT = 'insert into effects (job, run) values ($1, $2)'

let instance: PGlite
let mill: Mill

beforeAll(async () => {
  instance = await startPglite()
  await instance.exec('create table effects (job text not null, run int not null)')
  mill = await open(instance, { migrate: 'auto', logger: false })
}, 120_000)

beforeEach(async () => {
  await instance.exec('delete from effects')
})

afterAll(async () => {
  await mill.close()
  await instance.close()
}, 120_000)

async function effectsOf(id: string): Promise<readonly unknown[]> {
  const { rows } = await instance.query('select run from effects where job = $1', [id])
  return rows
}

test('O4: on the one connection of PGlite effects and settlement commit together, on ours and on the caller’s transaction', async () => {
  const worker = mill.worker().handle(book, async (whose, run) => {
    if (whose === 'ours') {
      await run.transaction(async (tx) => tx.query(INSERT, [run.id, run.number]))
    } else {
      await run.transaction(instance, async (tx) => tx.query(INSERT, [run.id, run.number]))
    }
  })
  const jobs = await mill.enqueueMany(book, ['ours', 'theirs'])
  await worker.start()
  for (const { id } of jobs) {
    await until(async () => (await mill.jobs.get(id))?.state === 'completed')
    expect(await effectsOf(id)).toEqual([{ run: 1 }])
  }
  await worker.stop()
}, 60_000)

test.each(['ours', 'theirs'])(
  'O4: on PGlite renewals count as made while a transaction (%s) holds the connection: nobody is told of a loss',
  async (whose) => {
    using runs = gate()
    const signals: AbortSignal[] = []
    const worker = mill.worker().handle(book, async (name, run) => {
      signals.push(run.signal)
      const hold = async (query: (text: string, values: unknown[]) => Promise<unknown>) => {
        await query(INSERT, [run.id, run.number])
        await runs.enter(name)
      }
      if (name === 'plain') await runs.enter(name)
      else if (whose === 'ours') await run.transaction((tx) => hold((...each) => tx.query(...each)))
      else await run.transaction(instance, (tx) => hold((...each) => tx.query(...each)))
    })
    const plain = await mill.enqueue(book, 'plain')
    await worker.start()
    await until(() => runs.now === 1)
    const held = await mill.enqueue(book, 'holds')
    await until(() => runs.now === 2)
    // Six leases long, and longer than a statement waits for the connection.
    const end = performance.now() + 6_500
    await until(() => performance.now() > end)
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false])
    runs.open()
    for (const { id } of [plain, held]) {
      await until(async () => (await mill.jobs.get(id))?.state === 'completed')
      expect(await mill.jobs.get(id)).toMatchObject({ run: 1, failures: 0 })
    }
    expect(await effectsOf(held.id)).toEqual([{ run: 1 }])
    await worker.stop()
  },
  60_000,
)

test('race 23: an enqueue beside the transaction fails soon and names mill.in(tx); tx.enqueue does not', async () => {
  const other = defineJob('other', { input: typed<string>() })
  let thrown: unknown
  const worker = mill.worker().handle(book, async (_name, run) => {
    await run.transaction(async (tx) => {
      thrown = await thrownBy(mill.enqueue(other, 'beside'))
      await tx.enqueue(other, 'inside')
    })
  })
  const { id } = await mill.enqueue(book, 'x')
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(thrown).toBeInstanceOf(DatabaseError)
  expect(thrown).toMatchObject({ message: expect.stringContaining('mill.in(tx)') })
  const { items } = await mill.jobs.list({ kind: other }).page()
  expect(items.map(({ input }) => input)).toEqual(['inside'])
  await worker.stop()
}, 60_000)

test('L5, O4: on PGlite a timeout ends a transaction that waits for nothing, and the connection is free', async () => {
  const slow = defineJob('slow', { timeout: '200ms', retry: { failures: 1 } })
  const worker = mill.worker().handle(slow, async (_input, run) => {
    await run.transaction(async (tx) => {
      await tx.query(INSERT, [run.id, run.number])
      await new Promise(() => undefined)
    })
  })
  const { id } = await mill.enqueue(slow)
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'dead')
  expect(await mill.jobs.get(id)).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
  expect(await effectsOf(id)).toEqual([])
  await worker.stop()
}, 60_000)
