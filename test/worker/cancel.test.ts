import { expect, test } from 'vitest'
import { CancelledError, defineJob, LeaseLostError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { manualSetup, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const LISTENER_OR_NOT = [{ wake: 'listen' }, { wake: 'poll' }] as const

interface Begun {
  readonly id: string
  /** When its signal aborted, and why. */
  readonly heard: Promise<{ readonly at: number; readonly reason: unknown }>
}

/** A run that goes on until its signal aborts. */
async function begin({ mill }: Setup): Promise<Begun> {
  let hear: ((heard: { at: number; reason: unknown }) => void) | undefined
  let hasBegun = false
  const heard = new Promise<{ at: number; reason: unknown }>((resolve) => {
    hear = resolve
  })
  const worker = mill.worker().handle(visit, async (_input, run: Run) => {
    hasBegun = true
    await new Promise<void>((resolve) => {
      run.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    hear?.({ at: performance.now(), reason: run.signal.reason })
    run.signal.throwIfAborted()
  })
  await worker.start()
  const { id } = await mill.enqueue(visit, 'x')
  await until(() => hasBegun)
  return { id, heard }
}

async function isListening({ sql }: Setup): Promise<boolean> {
  const { rows } = await sql.query(
    `select from pg_stat_activity
     where application_name = 'millrace listen' and state = 'idle' and datname = current_database()`,
  )
  return rows.length > 0
}

test.each(LISTENER_OR_NOT)(
  'X1: a run hears within a second or two that another client cancelled it, with $wake',
  async (options) => {
    await using bench = await setup(options)
    await using other = await setup({ schema: bench.schema })
    const { id, heard } = await begin(bench)
    if (options.wake === 'listen') await until(() => isListening(bench))

    const cancelledAt = performance.now()
    await other.mill.jobs.cancel(id, { by: 'ada' })
    const { at, reason } = await heard

    expect(reason).toBeInstanceOf(CancelledError)
    expect(reason).toMatchObject({ id, by: 'ada' })
    expect(at - cancelledAt).toBeLessThan(5_000)
    expect(await other.mill.jobs.wait(id)).toMatchObject({ state: 'cancelled', by: 'ada' })
  },
)

test.each(LISTENER_OR_NOT)(
  'X1: a run whose lease was taken by force hears that as soon, with $wake',
  async (options) => {
    await using bench = await setup(options)
    await using other = await setup({ schema: bench.schema })
    const { id, heard } = await begin(bench)
    if (options.wake === 'listen') await until(() => isListening(bench))

    const cancelledAt = performance.now()
    await other.mill.jobs.cancel(id, { force: true })
    const { at, reason } = await heard

    expect(reason).toBeInstanceOf(LeaseLostError)
    expect(at - cancelledAt).toBeLessThan(5_000)
    expect(await other.mill.jobs.get(id)).toMatchObject({ state: 'cancelled', run: 1 })
  },
)

test('X1: a cancel that nobody announced, or that was missed, is found while the run lives', async () => {
  await using bench = await manualSetup()
  using statements = watchStatements(bench.schema)
  const { id, heard } = await begin(bench)
  await until(() => isListening(bench))
  await statements.quiet()
  await bench.sql.query(
    `update leases set cancel_requested_at = now(), cancel_by = 'sql' where job_id = $1`,
    [id],
  )
  // It looks every ten seconds while a listener hears.
  await until(() => {
    bench.clock.advance(1_000)
    return statements.count('cancelled_runs') > 0
  })
  expect((await heard).reason).toMatchObject({ code: 'CANCELLED', by: 'sql' })
})

test('X1: runs that are not cancelled cost nothing while a listener hears', async () => {
  await using bench = await setup()
  const { mill } = bench
  let runs = 0
  const worker = mill.worker().handle(visit, () => {
    runs += 1
  })
  await worker.start()
  await until(() => isListening(bench))
  using statements = watchStatements(bench.schema)
  for (let n = 0; n < 50; n += 1) await mill.enqueue(visit, 'x')
  await until(() => runs === 50)
  await worker.stop()
  expect(statements.count('cancelled_runs')).toBeLessThan(3)
  expect(statements.count('announce_ends')).toBe(0)
})
