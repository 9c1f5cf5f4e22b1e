import { expect, test } from 'vitest'
import { defineJob, ShutdownError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, assertRunsRecordedOnce, manualSetup, places } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })

test('X3: a handler that stops its worker at its first word stops what was claimed with it, too', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema } = bench
  using runs = gate()
  const seen: Run[] = []
  let stopped: Promise<void> | undefined
  const worker = mill.worker({ concurrency: 3, grace: '20s' }).handle(visit, (number, run) => {
    if (number === 0) {
      stopped = worker.stop()
      return undefined
    }
    seen.push(run)
    return runs.enter(String(number))
  })
  await mill.enqueueMany(visit, [0, 1, 2])
  await worker.start()
  await until(() => stopped !== undefined)
  await until(async () => (await places(sql, schema)).finished === 1)
  // Whoever began is told; whoever did not is back in its place.
  expect(seen.map((run) => run.signal.reason)).toEqual(
    seen.map(() => expect.any(ShutdownError) as unknown),
  )
  runs.open()
  await stopped
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('X3: what waits behind a run that stops the worker goes back, and nothing begins after the stop', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema } = bench
  using runs = gate()
  let stopped: Promise<void> | undefined
  let late = 0
  const worker = mill.worker({ concurrency: 2, grace: 0 }).handle(visit, (number) => {
    if (stopped !== undefined) late += 1
    // The first of a claim of many: those behind it have no place in line yet.
    if (number >= 2) stopped ??= worker.stop()
    return number < 2 ? undefined : runs.enter(String(number))
  })
  await mill.enqueueMany(
    visit,
    Array.from({ length: 20 }, (_, index) => index),
  )
  await worker.start()
  await until(() => stopped !== undefined)
  let isStopped = false
  void stopped?.then(() => {
    isStopped = true
  })
  await until(() => isStopped, { ms: 5_000 })
  expect(late, 'runs that began after the stop').toBe(0)
  expect(await places(sql, schema)).toMatchObject({ ready: 18, leases: 0, finished: 2 })
  await assertRunsRecordedOnce(sql, schema)
})
