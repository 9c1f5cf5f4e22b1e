import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DatabaseError, defineJob, open, typed } from '../../src/index.ts'
import type { Mill } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { startPglite } from '../support/pglite.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  result: typed<string>(),
  retry: { failures: 1 },
})

let instance: PGlite
let mill: Mill

beforeAll(async () => {
  instance = await startPglite()
  mill = await open(instance, { migrate: 'auto', logger: false })
}, 120_000)

afterAll(async () => {
  await mill.close()
  await instance.close()
}, 120_000)

test('race 23: an enqueue that is awaited inside one’s own transaction fails soon, names mill.in(tx), and never happens', async () => {
  await instance.transaction(async (tx) => {
    await tx.query('select 1')
    const error: unknown = await mill.enqueue(visit, 'outside').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(DatabaseError)
    expect(error).toMatchObject({ message: expect.stringContaining('mill.in(tx)') })
    await mill.in(tx).enqueue(visit, 'inside')
  })
  const { rows } = await instance.query('select payload from millrace.jobs')
  expect(rows).toEqual([{ payload: 'inside' }])
  await instance.query('delete from millrace.ready')
  await instance.query('delete from millrace.jobs')
}, 120_000)

test('race 23: a run that ends while the application holds the one connection settles as it ended, once it is free', async () => {
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => runs.now === 1)
  await instance.transaction(async (tx) => {
    runs.open()
    // Longer than a statement of ours waits for the connection.
    const began = performance.now()
    while (performance.now() - began < 6_500) {
      await tx.query('select 1')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await mill.jobs.get(id)).toMatchObject({ run: 1, failures: 0, result: 'x' })
  await worker.stop()
}, 120_000)
