import { expect, test } from 'vitest'
import { statementChannel } from '../../src/core/telemetry.ts'
import { defineJob, InvalidOptionError, typed } from '../../src/index.ts'
import type { JobRecord, Run } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { manualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const load = defineJob('load', { input: typed<string>() })

function progressOf(job: JobRecord | null): unknown {
  return job?.state === 'running' ? job.progress : undefined
}

test('jobs.get shows what a running job said of its progress, within a second', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  using runs = gate()
  const said = new Map<string, Run>()
  const worker = mill.worker().handle(load, async (name, run) => {
    said.set(name, run)
    await runs.enter(name)
  })
  const a = await mill.enqueue(load, 'a')
  const b = await mill.enqueue(load, 'b')
  await worker.start()
  await until(() => runs.now === 2)
  expect(progressOf(await mill.jobs.get(a.id))).toBeNull()
  said.get('a')?.progress(3, 10)
  said.get('b')?.progress(0.5)
  clock.advance(1_000)
  await until(async () => progressOf(await mill.jobs.get(a.id)) !== null)
  expect(progressOf(await mill.jobs.get(a.id))).toEqual({ done: 3, total: 10 })
  expect(progressOf(await mill.jobs.get(b.id))).toEqual({ done: 0.5, total: null })
  const listed = await mill.jobs.list({ state: 'running' }).page()
  expect(listed.items.map(progressOf)).toContainEqual({ done: 3, total: 10 })
  runs.open()
})

test('progress is written once a second at most, the latest word of all runs together', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  using runs = gate()
  let writes = 0
  const hear = (message: unknown): void => {
    if (typeof message !== 'object' || message === null || !('statement' in message)) return
    if (message.statement === 'save_progress') writes += 1
  }
  statementChannel.start.subscribe(hear)
  try {
    const all: Run[] = []
    const worker = mill.worker().handle(load, async (name, run) => {
      all.push(run)
      await runs.enter(name)
    })
    const [job] = await mill.enqueueMany(load, ['a', 'b', 'c'])
    await worker.start()
    await until(() => runs.now === 3)
    for (let done = 1; done <= 100; done += 1) {
      for (const run of all) run.progress(done, 300)
      clock.advance(30)
    }
    // A second after the first word, and a second after the first word since then.
    await until(() => writes === 2)
    clock.advance(1_000)
    await until(async () => {
      const seen = progressOf(await mill.jobs.get(job?.id ?? ''))
      return JSON.stringify(seen) === '{"done":100,"total":300}'
    })
    expect(writes).toBe(3)
    clock.advance(5_000)
    expect(writes).toBe(3)
    runs.open()
  } finally {
    statementChannel.start.unsubscribe(hear)
  }
})

test('M5: the progress of a run that lost its lease is not written over the next one', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  using runs = gate()
  let run: Run | undefined
  const worker = mill.worker().handle(load, async (name, current) => {
    run = current
    await runs.enter(name)
  })
  await mill.enqueue(load, 'a')
  const other = await mill.enqueue(load, 'b')
  await worker.start()
  await until(() => runs.now === 2)
  await sql.query('update leases set run = run + 1 where job_id <> $1', [other.id])
  const first = run
  first?.progress(9)
  clock.advance(1_000)
  // The other one's word goes with the next statement, so the first is done by then.
  first?.progress(10)
  clock.advance(1_000)
  await until(async () => {
    const { rows } = await sql.query('select from leases where progress_done is not null')
    return rows.length <= 1
  })
  const { rows } = await sql.query('select progress_done from leases where run = 2')
  expect(rows).toEqual([{ progress_done: null }])
  runs.open()
})

test.each([
  ['no number', 'half'],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
])('run.progress refuses %s', async (_what, done) => {
  await using bench = await manualSetup()
  const { mill } = bench
  let thrown: unknown
  const worker = mill.worker().handle(load, (_name, run) => {
    try {
      Reflect.apply(run.progress, run, [done, 10])
    } catch (error) {
      thrown = error
    }
  })
  await mill.enqueue(load, 'a')
  await worker.start()
  await until(() => thrown !== undefined)
  expect(thrown).toBeInstanceOf(InvalidOptionError)
})
