import { expect, test } from 'vitest'
import { instantText } from '../../src/core/instant-text.ts'
import { defineJob, LeaseLostError } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { databaseOfFile, manualSetup, NOON, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const copy = defineJob('copy', {
  carry: { line: 0 },
  retry: { backoff: { type: 'fixed', base: '1s', jitter: 0 } },
})

test('O6: what a checkpoint saved is there at once, and a crash resumes from it', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  using runs = gate()
  const seen: number[] = []
  const worker = mill.worker().handle(copy, async (_input, run) => {
    seen.push(run.carry.line)
    if (run.number > 1) return
    run.carry.line = 100
    await run.checkpoint()
    run.carry.line = 150
    await runs.enter('first')
  })
  const { id } = await mill.enqueue(copy)
  await worker.start()
  await until(() => runs.now === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'running', carry: { line: 100 } })
  // As if the worker had been another process, killed here.
  await sql.query(`update leases set worker = 'gone:1:x', lease_ends_at = $1`, [
    instantText(NOON - 5_000),
  ])
  await until(() => {
    clock.advance(1_000)
    return seen.length === 2
  })
  expect(seen).toEqual([0, 100])
  runs.open()
})

test('O6, M5: a checkpoint of a run that lost its lease writes nothing and says so', async () => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  let thrown: unknown
  const worker = mill.worker().handle(copy, async (_input, run) => {
    await sql.query('update leases set run = run + 1')
    run.carry.line = 1
    thrown = await run.checkpoint().catch((error: unknown) => error)
  })
  const { id } = await mill.enqueue(copy)
  await worker.start()
  await until(() => thrown !== undefined)
  expect(thrown).toBeInstanceOf(LeaseLostError)
  expect(thrown).toMatchObject({ id, run: 1 })
  expect((await sql.query('select from carries')).rows).toEqual([])
})

test('O6: a checkpoint writes only what changed since the last one', async () => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  const versions: unknown[] = []
  const version = async (): Promise<void> => {
    const { rows } = await sql.query('select xmin::text, carry::text from carries')
    versions.push(rows[0])
  }
  const worker = mill.worker().handle(copy, async (_input, run) => {
    await run.checkpoint()
    await version()
    run.carry.line = 1
    await run.checkpoint()
    await version()
    run.carry = { line: 1 }
    await run.checkpoint()
    await version()
    return run.pause({ for: '1h' })
  })
  const { id } = await mill.enqueue(copy)
  await worker.start()
  await until(async () => {
    const job = await mill.jobs.get(id)
    return job?.state === 'pending' && job.waiting === 'paused'
  })
  await version()
  expect(versions[0]).toBeUndefined()
  expect(versions[1]).toMatchObject({ carry: '{"line":1}' })
  // Neither the same text again nor the pause after it.
  expect(versions.slice(2)).toEqual([versions[1], versions[1]])
})

test('O6: a checkpoint whose answer was lost is repeated, and the run goes on', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  const { mill, sql } = bench
  let lost: Promise<void> | undefined
  const worker = mill.worker().handle(copy, async (_input, run) => {
    run.carry.line = 9
    lost = proxy.loseAnswer('for key share')
    await run.checkpoint()
  })
  const { id } = await mill.enqueue(copy)
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  await lost
  expect(await mill.jobs.get(id)).toMatchObject({ run: 1, failures: 0, carry: { line: 9 } })
  expect((await sql.query('select from carries')).rows).toHaveLength(1)
})

test('O6: a checkpoint that nobody awaits is written before the run is settled, and its failure ends no process', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  const worker = mill.worker().handle(copy, (_input, run) => {
    // As a careless handler would.
    Reflect.set(run.carry, 'line', 4n)
    void run.checkpoint()
    run.carry.line = 4
    void run.checkpoint()
  })
  const { id } = await mill.enqueue(copy)
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  // Vitest fails a test file with an unhandled rejection.
  expect(await mill.jobs.get(id)).toMatchObject({ failures: 0, carry: { line: 4 } })
})
