import { expect, test } from 'vitest'
import { defineJob, RunTimeoutError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { book, bookOnce, thrownBy } from '../support/booking.ts'
import { collect } from '../support/collect.ts'
import { effects } from '../support/effects.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const next = defineJob('next', { input: typed<string>() })

test('O4: a handler that throws while its transaction is open rolls it back and fails', async () => {
  await using bench = await manualSetup()
  const { job, runs } = await bookOnce(bench, async (run, done) => {
    let isWritten = false
    void run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      isWritten = true
      await new Promise(() => undefined)
    })
    await until(() => isWritten)
    throw new Error('elsewhere')
  })
  expect(runs).toEqual([])
  expect(job).toMatchObject({ state: 'pending', failures: 1 })
})

const DEAF = [
  ['that waits for nothing', async () => new Promise<void>(() => undefined)],
  [
    'in a statement',
    async (query: (text: string) => Promise<unknown>) => void (await query('select pg_sleep(600)')),
  ],
] as const

test.each(DEAF)(
  'L5, O4: a timeout rolls back a transaction %s, fails the run and holds up no other',
  async (_what, wait) => {
    await using bench = await manualSetup()
    const { mill, clock } = bench
    const done = await effects(bench)
    const slow = defineJob('slow', { timeout: '5s' })
    let isOpen = false
    let thrown: unknown
    const worker = mill
      .worker({ concurrency: 1 })
      .handle(slow, async (_input, run) => {
        thrown = await thrownBy(
          run.transaction(async (tx) => {
            await tx.query(done.insert, [run.id, run.number])
            isOpen = true
            await wait((text) => tx.query(text))
          }),
        )
      })
      .handle(next, () => undefined)
    const { id } = await mill.enqueue(slow)
    await worker.start()
    await until(() => isOpen)
    clock.advance(5_000)
    await until(async () => (await mill.jobs.get(id))?.failures === 1)
    expect(thrown).toBeInstanceOf(RunTimeoutError)
    const other = await mill.enqueue(next, 'y')
    await until(async () => (await mill.jobs.get(other.id))?.state === 'completed')
    expect(await done.runs()).toEqual([])
    await worker.stop()
  },
)

test.each(DEAF)(
  'X3, O4: a shutdown whose grace is over rolls back a transaction %s, and releases the job at once',
  async (_what, wait) => {
    await using bench = await setup()
    const { mill } = bench
    const done = await effects(bench)
    let isOpen = false
    const worker = mill.worker().handle(book, (_input, run) =>
      run.transaction(async (tx) => {
        await tx.query(done.insert, [run.id, run.number])
        isOpen = true
        await wait((text) => tx.query(text))
      }),
    )
    const { id } = await mill.enqueue(book, 'x')
    await worker.start()
    await until(() => isOpen)
    await worker.stop({ grace: 0 })
    expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0, run: 1 })
    expect(await collect(mill.jobs.journal(id))).toMatchObject([{ outcome: 'released' }])
    expect(await done.runs()).toEqual([])
  },
)

test('X3, O4: a transaction that ends within the grace of a shutdown commits', async () => {
  await using bench = await setup()
  const { mill } = bench
  const done = await effects(bench)
  let isOpen = false
  const worker = mill.worker().handle(book, (_input, run) =>
    run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      isOpen = true
      await new Promise<void>((resolve) => {
        run.signal.addEventListener('abort', () => resolve())
      })
    }),
  )
  const { id } = await mill.enqueue(book, 'x')
  await worker.start()
  await until(() => isOpen)
  await worker.stop()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed' })
  expect(await done.runs()).toEqual([1])
})

test('X1, O4: a cancel during the transaction reaches the signal; an fn that returns all the same has completed', async () => {
  await using bench = await setup()
  const { mill } = bench
  const done = await effects(bench)
  const handler = (throws: boolean) => async (_input: string, run: Run<typeof book>) => {
    await run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      await mill.jobs.cancel(run.id, { by: 'ada' })
      await until(() => run.signal.aborted)
      if (throws) throw run.signal.reason
    })
  }
  for (const [throws, state] of [
    [true, 'cancelled'],
    [false, 'completed'],
  ] as const) {
    const { id } = await mill.enqueue(book, 'x')
    await using worker = mill.worker().handle(book, handler(throws))
    await worker.start()
    await until(async () => (await mill.jobs.get(id))?.state === state)
  }
  expect(await done.runs()).toEqual([1])
})

test('O4: a transaction of ours that idles longer than the lease is ended by the server', async () => {
  await using bench = await setup()
  const brief = defineJob('brief', { lease: '1s', retry: { failures: 1 } })
  const { mill } = bench
  const done = await effects(bench)
  await using worker = mill.worker().handle(brief, (_input, run) =>
    run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      await until(async () => {
        const { rows } = await bench.sql.query(
          `select from pg_stat_activity
           where datname = current_database() and state = 'idle in transaction'
             and application_name = 'millrace transaction'`,
        )
        return rows.length === 0
      })
      await tx.query('select 1')
    }),
  )
  const { id } = await mill.enqueue(brief)
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'dead')
  expect(await done.runs()).toEqual([])
})
