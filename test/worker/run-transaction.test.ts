import { expect, test } from 'vitest'
import { defineJob, InvalidOptionError, typed } from '../../src/index.ts'
import type { Mill } from '../../src/index.ts'
import { book, bookOnce, thrownBy } from '../support/booking.ts'
import { collect } from '../support/collect.ts'
import { gate } from '../support/gate.ts'
import { manualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const counted = defineJob('counted', { result: typed<number>() })
const next = defineJob('next', { input: typed<string>() })
const keyed = defineJob('keyed', { input: typed<string>(), dedup: 'the same' })

test('O4: effects and settlement commit together, and run.transaction gives what fn gave', async () => {
  await using bench = await manualSetup()
  let given: unknown
  const { id, job, runs } = await bookOnce(bench, async (run, done) => {
    run.note('booked')
    given = await run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      const { rows } = await tx.query<{ sum: number }>('select $1::int + 1 as sum', [1])
      expect((await bench.sql.query('select from finished')).rows).toEqual([])
      return rows[0]?.sum
    })
  })
  expect(given).toBe(2)
  expect(job).toMatchObject({ state: 'completed', run: 1, note: 'booked' })
  expect(runs).toEqual([1])
  const { rows } = await bench.sql.query(
    `select (select xmin::text from effects) = (select xmin::text from finished where job_id = $1) as together`,
    [id],
  )
  expect(rows).toEqual([{ together: true }])
})

test('O4: what fn throws rolls everything back, and the run fails unless the handler goes on', async () => {
  await using failing = await manualSetup()
  const failed = await bookOnce(failing, (run, done) =>
    run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      throw new Error('no money')
    }),
  )
  expect(failed).toMatchObject({ runs: [], job: { state: 'pending', failures: 1 } })

  await using going = await manualSetup()
  const went = await bookOnce(going, async (run, done) => {
    await thrownBy(
      run.transaction(async (tx) => {
        await tx.query(done.insert, [run.id, run.number])
        throw new Error('no money')
      }),
    )
    return run.pause({ for: '1m' })
  })
  expect(went).toMatchObject({ runs: [], job: { state: 'pending', waiting: 'paused' } })
})

test('O4: a statement that failed and was swallowed does not commit half of it', async () => {
  await using bench = await manualSetup()
  const { job, runs } = await bookOnce(bench, (run, done) =>
    run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      await thrownBy(tx.query('select 1 / 0'))
    }),
  )
  expect(runs).toEqual([])
  expect(job).toMatchObject({ state: 'pending', failures: 1 })
})

test('O4: what the handler does after the transaction changes nothing, and its signal tells of no loss', async () => {
  await using bench = await manualSetup()
  const { mill, clock, sql } = bench
  using runs = gate()
  let signal: AbortSignal | undefined
  const verbs: unknown[] = []
  const worker = mill.worker().handle(book, async (_input, run) => {
    signal = run.signal
    await run.transaction(async () => undefined)
    for (const verb of [
      () => run.pause({ for: '1m' }),
      () => run.enqueue(next, 'late'),
      () => run.checkpoint(),
      () => run.transaction(async () => undefined),
    ]) {
      verbs.push(await thrownBy((async () => verb())()))
    }
    await runs.enter('afterwards')
    throw new Error('too late to fail')
  })
  const { id } = await mill.enqueue(book, 'x')
  await worker.start()
  await until(() => runs.now === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed' })
  // Long enough for renewals and for the end of the lease.
  for (let seconds = 0; seconds < 90; seconds += 10) {
    clock.advance(10_000)
    await sql.query('select 1')
  }
  expect(signal?.aborted).toBe(false)
  expect(verbs).toHaveLength(4)
  for (const thrown of verbs) expect(thrown).toBeInstanceOf(InvalidOptionError)
  runs.open()
  await worker.stop()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', failures: 0 })
  expect(await collect(mill.jobs.list({ kind: next }))).toEqual([])
})

test('O4: a second call is an error, also after the first was rolled back', async () => {
  await using bench = await manualSetup()
  let thrown: unknown
  const { job } = await bookOnce(bench, async (run) => {
    await thrownBy(run.transaction(() => Promise.reject(new Error('first'))))
    thrown = await thrownBy(run.transaction(async () => undefined))
  })
  expect(thrown).toBeInstanceOf(InvalidOptionError)
  expect(thrown).toMatchObject({ message: expect.stringContaining('Write everything in one') })
  expect(job).toMatchObject({ state: 'completed' })
})

test('O4: a run is settled by its transaction or by a pause, not by both', async () => {
  await using bench = await manualSetup()
  const thrown: unknown[] = []
  const { job, runs } = await bookOnce(bench, async (run, done) => {
    const work = run.transaction(async (tx) => {
      await tx.query(done.insert, [run.id, run.number])
      thrown.push(await thrownBy((async () => run.pause({ for: '1m' }))()))
      throw new Error('rolled back')
    })
    await thrownBy(work)
    run.pause({ for: '1m' })
    thrown.push(await thrownBy(run.transaction(async () => undefined)))
  })
  expect(thrown).toHaveLength(2)
  for (const each of thrown) {
    expect(each).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(/both/) })
  }
  expect(runs).toEqual([])
  expect(job).toMatchObject({ waiting: 'paused' })
})

test('api trap 3: for kinds with a result, what fn gave is stored; one that cannot be stored rolls back', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  let isBroken = true
  await using worker = mill.worker().handle(counted, async (_input, run) => {
    await run.transaction(async () => (isBroken ? 1n : 41))
    return 99
  })
  const { id } = await mill.enqueue(counted)
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.failures === 1)
  const [entry] = await collect(mill.jobs.journal(id))
  expect(entry).toMatchObject({ error: { message: expect.stringContaining('the result cannot') } })
  isBroken = false
  bench.clock.advance(3_600_000)
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  expect(await mill.jobs.get(id)).toMatchObject({ result: 41 })
})

test('O5: follow-ups and tx.enqueue commit with the transaction, keyed or not, and go with it', async () => {
  await using committed = await manualSetup()
  await bookOnce(committed, async (run) => {
    await run.enqueue(next, 'follow')
    await run.enqueue(keyed, 'follow')
    await run.transaction(async (tx) => {
      await tx.enqueue(next, 'inside')
      await tx.enqueueMany(keyed, ['inside'])
      void run.enqueue(next, 'not awaited')
    })
  })
  expect(await asked(committed.mill)).toEqual(['follow', 'follow', 'inside', 'not awaited'])

  await using undone = await manualSetup()
  await bookOnce(undone, async (run) => {
    await run.transaction(async (tx) => {
      await tx.enqueue(next, 'inside')
      await run.enqueue(next, 'follow')
      throw new Error('after all')
    })
  })
  expect(await asked(undone.mill)).toEqual([])
})

test('O4: a transaction that the handler does not await settles the run, or fails it', async () => {
  await using good = await manualSetup()
  const settled = await bookOnce(good, (run, done) => {
    void run.transaction(async (tx) => {
      await tx.query('select pg_sleep(0.1)')
      await tx.query(done.insert, [run.id, run.number])
    })
  })
  expect(settled).toMatchObject({ runs: [1], job: { state: 'completed' } })

  await using bad = await manualSetup()
  const failed = await bookOnce(bad, (run) => {
    void run.transaction(async (tx) => tx.query('select 1 / 0'))
  })
  expect(failed).toMatchObject({ job: { state: 'pending', failures: 1 } })
})

test.each([
  ['nothing', []],
  ['no function', [5]],
  ['a database without a function', [{ transaction: () => undefined }]],
  ['what opens no transaction', [{}, async () => undefined]],
])('run.transaction refuses %s', async (_what, given) => {
  await using bench = await manualSetup()
  let thrown: unknown
  await bookOnce(bench, async (run) => {
    const calling: Promise<unknown> = Reflect.apply(run.transaction, run, given)
    thrown = await thrownBy(calling)
  })
  expect(thrown).toBeInstanceOf(InvalidOptionError)
})

async function asked(mill: Mill): Promise<readonly string[]> {
  const jobs = await collect(mill.jobs.list({ kind: [next, keyed] }))
  return jobs.map(({ input }) => String(input)).toSorted((a, b) => (a < b ? -1 : 1))
}
