import { expect, test } from 'vitest'
import { instantText } from '../../src/core/instant-text.ts'
import { DatabaseError, defineJob, LeaseLostError, typed } from '../../src/index.ts'
import { book, bookOnce, thrownBy } from '../support/booking.ts'
import { collect } from '../support/collect.ts'
import { effects } from '../support/effects.ts'
import { gate } from '../support/gate.ts'
import { databaseOfFile, manualSetup, NOON, setup } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const next = defineJob('next', { input: typed<string>() })

test('O4: a run whose lease was lost before it gets a LeaseLostError, and fn is not called', async () => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  let isCalled = false
  let thrown: unknown
  await using worker = mill.worker().handle(book, async (_input, run) => {
    await sql.query('update leases set run = run + 1')
    thrown = await thrownBy(
      run.transaction(async () => {
        isCalled = true
      }),
    )
  })
  await mill.enqueue(book, 'x')
  await worker.start()
  await until(() => thrown !== undefined)
  expect(thrown).toBeInstanceOf(LeaseLostError)
  expect(isCalled).toBe(false)
})

test('race 21: a lease that lapses while the effects are written is not recovered, and the effect is there once', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  const done = await effects(bench)
  using runs = gate()
  const worker = mill.worker().handle(book, (_input, run) =>
    run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      await runs.enter('written')
    }),
  )
  const other = mill.worker().handle(next, () => undefined)
  const { id } = await mill.enqueue(book, 'x')
  await worker.start()
  await until(() => runs.now === 1)
  // As if nothing had renewed it for a long time; this does not touch what the lock is for.
  await sql.query(`update leases set lease_ends_at = $1`, [instantText(NOON - 60_000)])
  await other.start()
  // Its first sweep passes over the lease.
  const another = await mill.enqueue(next, 'y')
  await until(async () => (await mill.jobs.get(another.id))?.state === 'completed')
  clock.advance(500)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'running', run: 1 })
  runs.open()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await done.runs()).toEqual([1])
  expect(await collect(mill.jobs.journal(id))).toMatchObject([{ outcome: 'completed', run: 1 }])
  await worker.stop()
  await other.stop()
})

test('race 21: a force while the effects are written does not get the job, and says so', async () => {
  await using bench = await setup()
  const { mill } = bench
  const done = await effects(bench)
  using runs = gate()
  const worker = mill.worker().handle(book, (_input, run) =>
    run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      await runs.enter('written')
    }),
  )
  const { id } = await mill.enqueue(book, 'x')
  await worker.start()
  await until(() => runs.now === 1)
  await expect(mill.jobs.cancel(id, { force: true })).rejects.toMatchObject({ sqlstate: '55P03' })
  runs.open()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await done.runs()).toEqual([1])
  await worker.stop()
})

test('race 9: while a transaction is open its lease and all others are renewed in time', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  using runs = gate()
  const signals: AbortSignal[] = []
  const worker = mill.worker().handle(book, async (name, run) => {
    signals.push(run.signal)
    if (name === 'plain') await runs.enter(name)
    else await run.transaction(() => runs.enter(name))
  })
  await mill.enqueueMany(book, ['plain', 'transaction'])
  await worker.start()
  await until(() => runs.now === 2)
  for (let second = 0; second < 180; second += 5) {
    clock.advance(5_000)
    const isLate = async (): Promise<boolean> => {
      const { rows } = await sql.query('select from leases where lease_ends_at < $1', [
        instantText(clock.now() + 15_000),
      ])
      return rows.length > 0
    }
    await until(async () => !(await isLate()))
  }
  expect(signals.map((signal) => signal.aborted)).toEqual([false, false])
  runs.open()
  await until(async () => (await sql.query('select from finished')).rows.length === 2)
  await worker.stop()
})

test('M8, O4: a commit whose answer was lost is looked up: the transaction is told to have happened', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using bench = await setup({ database: proxy.url })
  let lost: Promise<void> | undefined
  let given: unknown
  const { job, runs } = await bookOnce(bench, async (run, done) => {
    given = await run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      lost = proxy.loseAnswer('commit')
      return 'there'
    })
  })
  await lost
  expect(given).toBe('there')
  expect(runs).toEqual([1])
  expect(job).toMatchObject({ state: 'completed', run: 1, failures: 0 })
})

test('O4: a connection that is lost before the commit leaves no effect, and the run is repeated', async () => {
  await using bench = await manualSetup()
  const { sql } = bench
  let thrown: unknown
  const { job, runs } = await bookOnce(bench, async (run, done) => {
    thrown = await thrownBy(
      run.transaction(async (tx) => {
        await tx.query(done.insert, [run.id, run.number])
        const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
        await sql.query('select pg_terminate_backend($1)', [rows[0]?.pid])
      }),
    )
    throw thrown
  })
  expect(thrown).toBeInstanceOf(DatabaseError)
  expect(runs).toEqual([])
  expect(job).toMatchObject({ state: 'pending', failures: 1 })
})
