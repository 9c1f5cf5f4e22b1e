import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runChannel } from '../../src/core/telemetry.ts'
import type { RunContext } from '../../src/core/telemetry.ts'
import { defineJob, typed } from '../../src/index.ts'
import { setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })
const JOBS = 50

function numbers(): readonly number[] {
  return Array.from({ length: JOBS }, (_, index) => index)
}

test('a handler finds nothing of what another run kept in an AsyncLocalStorage', async () => {
  await using bench = await setup()
  const { mill } = bench
  const tenant = new AsyncLocalStorage<number>()
  const found: (number | undefined)[] = []
  const worker = mill.worker({ concurrency: 2 }).handle(visit, async (number) => {
    found.push(tenant.getStore())
    tenant.enterWith(number)
    await nextTurn()
  })
  await mill.enqueueMany(visit, numbers())
  await worker.start()
  await until(() => found.length === JOBS)
  await worker.stop()
  expect(found.filter((each) => each !== undefined)).toEqual([])
})

test("H6: the operation of a run is nobody else's: not of the run whose slot it took", async () => {
  await using bench = await setup()
  const { mill } = bench
  const operation = new AsyncLocalStorage<RunContext>()
  const outer: (string | undefined)[] = []
  runChannel.start.bindStore(operation, (run) => {
    outer.push(operation.getStore()?.id)
    return run
  })
  const worker = mill.worker({ concurrency: 2 }).handle(visit, () => nextTurn())
  await mill.enqueueMany(visit, numbers())
  await worker.start()
  await until(() => outer.length === JOBS)
  await worker.stop()
  runChannel.start.unbindStore(operation)
  expect(outer.filter((id) => id !== undefined)).toEqual([])
})
