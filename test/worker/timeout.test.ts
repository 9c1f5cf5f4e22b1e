import { expect, test } from 'vitest'
import { defineJob, RunTimeoutError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { gate } from '../support/gate.ts'
import { assertRunsRecordedOnce, manualSetup, NOON, places } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  result: typed<string>(),
  timeout: '5s',
  retry: { failures: 2, backoff: { type: 'fixed', base: '1h' } },
})

test('L5: a run whose handler never returns fails when its time is up, and its slot is free again', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  using runs = gate()
  const seen: Run[] = []
  const worker = mill.worker({ concurrency: 1 }).handle(visit, async (name, run) => {
    seen.push(run)
    await runs.enter(name)
    return `late ${name}`
  })
  const stuck = await mill.enqueue(visit, 'stuck')
  await worker.start()
  await until(() => runs.now === 1)
  expect(seen[0]?.deadline).toEqual(new Date(NOON + 5_000))
  const signal = seen[0]?.signal
  clock.advance(4_999)
  expect(signal?.aborted).toBe(false)
  clock.advance(1)
  expect(signal?.reason).toBeInstanceOf(RunTimeoutError)
  expect(signal?.reason).toMatchObject({ id: stuck.id, timeoutMs: 5_000, code: 'RUN_TIMEOUT' })

  await mill.enqueue(visit, 'next')
  await until(() => runs.names.includes('next'))
  // Its slot is free before its failure is written.
  await until(async () => (await mill.jobs.get(stuck.id))?.state === 'pending')
  expect(await mill.jobs.get(stuck.id)).toMatchObject({ failures: 1 })
  expect(await collect(mill.jobs.journal(stuck.id))).toMatchObject([
    { outcome: 'retried', run: 1, error: { name: 'RunTimeoutError', code: 'RUN_TIMEOUT' } },
  ])

  // What the abandoned handler returns later is void.
  runs.open()
  await until(async () => (await places(sql, schema)).finished === 1)
  expect(await mill.jobs.get(stuck.id)).toMatchObject({ state: 'pending', failures: 1 })
  await assertRunsRecordedOnce(sql, schema)
})

test('L5: a run that ends in time is not touched, nor is the clock left with its alarm', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  const seen: Run[] = []
  const worker = mill.worker().handle(visit, (name, run) => {
    seen.push(run)
    return name
  })
  await mill.enqueue(visit, 'quick')
  await worker.start()
  await until(async () => (await places(sql, schema)).finished === 1)
  clock.advance(10_000)
  expect(seen[0]?.signal.aborted).toBe(false)
  await bench.close()
  expect(clock.timers).toBe(0)
})

test('L5: at the limit of failures a timeout leaves the job dead', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'x', { retry: { failures: 1 } })
  await worker.start()
  await until(() => runs.now === 1)
  clock.advance(5_000)
  await until(async () => (await mill.jobs.get(id))?.state === 'dead')
  expect(await mill.jobs.get(id)).toMatchObject({
    reason: 'failed',
    error: { name: 'RunTimeoutError' },
  })
})

test('L5: the timeout is apart from the lease: it ends a run whose lease is renewed all the time', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  using runs = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    await runs.enter(name)
    return name
  })
  const { id } = await mill.enqueue(visit, 'x', { timeout: '100s', lease: '30s' })
  await worker.start()
  await until(() => runs.now === 1)
  for (let passed = 0; passed < 99_000; passed += 9_000) {
    clock.advance(9_000)
    await until(async () => {
      const job = await mill.jobs.get(id)
      return job?.state === 'running' && job.leaseEndsAt.getTime() > clock.now() + 15_000
    })
  }
  clock.advance(1_000)
  await until(async () => (await mill.jobs.get(id))?.state === 'pending')
})

test('L5: a handler that throws because of its timeout fails once', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  let begun = false
  const worker = mill.worker().handle(visit, async (_name, run) => {
    begun = true
    await new Promise((_resolve, reject) => {
      run.signal.addEventListener('abort', () => reject(new Error('stopped by my signal')))
    })
    return 'never'
  })
  const { id } = await mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => begun)
  clock.advance(5_000)
  await until(async () => (await mill.jobs.get(id))?.state === 'pending')
  expect(await collect(mill.jobs.journal(id))).toMatchObject([
    { outcome: 'retried', error: { name: 'RunTimeoutError' } },
  ])
  await assertRunsRecordedOnce(sql, schema)
})
