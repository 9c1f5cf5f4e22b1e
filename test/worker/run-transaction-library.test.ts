import postgres from 'postgres'
import { expect, test } from 'vitest'
import { InvalidOptionError } from '../../src/index.ts'
import { bookOnce, startAfresh, thrownBy } from '../support/booking.ts'
import { freshDatabase } from '../support/database.ts'
import { manualSetup, setup } from '../support/mill.ts'

test('race 22: the settlement goes through though the lease was renewed meanwhile, whatever the default isolation', async () => {
  await using bench = await setup()
  const { sql, url, schema } = bench
  const name = new URL(url).pathname.slice(1)
  await sql.query(`alter database ${name} set default_transaction_isolation = 'serializable'`)
  try {
    const db = postgres(url, { max: 1, onnotice: () => undefined })
    const renew = `update ${schema}.leases set lease_ends_at = lease_ends_at + interval '1 second'`
    const { job, runs } = await bookOnce(bench, (run, done) =>
      run.transaction(db, async (tx) => {
        await tx.unsafe(done.insert, [run.id, run.number])
        await sql.query(renew)
      }),
    )
    await db.end()
    expect(runs).toEqual([1])
    expect(job).toMatchObject({ state: 'completed' })
  } finally {
    await sql.query(`alter database ${name} reset default_transaction_isolation`)
  }
})

test('O4: in a transaction of postgres.js effects and settlement commit together, or neither', async () => {
  await using bench = await manualSetup()
  const db = postgres(bench.url, { max: 2 })
  let given: unknown
  const committed = await bookOnce(bench, async (run, done) => {
    given = await run.transaction(db, async (tx) => {
      await tx.unsafe(done.insert, [run.id, run.number])
      return 7
    })
  })
  expect(given).toBe(7)
  expect(committed).toMatchObject({ runs: [1], job: { state: 'completed' } })
  await startAfresh(bench)
  const undone = await bookOnce(bench, (run, done) =>
    run.transaction(db, async (tx) => {
      await tx.unsafe(done.insert, [run.id, run.number])
      throw new Error('after all')
    }),
  )
  expect(undone).toMatchObject({ runs: [], job: { state: 'pending', failures: 1 } })
  await db.end()
})

test('O4: anything whose transaction(fn) gives a transaction will do; one that lies about it is found out', async () => {
  await using bench = await manualSetup()
  const client = await bench.session()
  const db = {
    async transaction<T>(fn: (tx: typeof client) => Promise<T>): Promise<T> {
      await client.query('begin')
      try {
        const result = await fn(client)
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      }
    },
  }
  const committed = await bookOnce(bench, (run, done) =>
    run.transaction(db, async (tx) => void (await tx.query(done.insert, [run.id, run.number]))),
  )
  expect(committed).toMatchObject({ runs: [1], job: { state: 'completed' } })

  await startAfresh(bench)
  const swallowing = {
    transaction: (fn: (tx: typeof client) => Promise<unknown>) =>
      db.transaction(fn).catch(() => undefined),
  }
  const swallowed = await bookOnce(bench, (run) =>
    run.transaction(swallowing, () => Promise.reject(new Error('unheard'))),
  )
  expect(swallowed).toMatchObject({ job: { state: 'pending', failures: 1 } })
  await startAfresh(bench)

  const inside = { ...db, rollback: () => undefined }
  let thrown: unknown
  await bookOnce(bench, async (run) => {
    thrown = await thrownBy(run.transaction(inside, async () => undefined))
  })
  expect(thrown).toMatchObject({ code: 'INVALID_OPTION', option: 'db' })
})

test('api trap 3: a transaction on another database is an error that says so, not a lost lease', async () => {
  await using bench = await manualSetup()
  await using empty = await freshDatabase()
  await using other = await setup()
  const elsewhere = postgres(empty.url, { max: 1 })
  let isCalled = false
  const fn = async (): Promise<void> => {
    isCalled = true
  }
  const thrown: unknown[] = []
  const sameServer = await other.session()
  // The same tables, without this job.
  const migrated = {
    async transaction<T>(work: (tx: object) => Promise<T>): Promise<T> {
      await sameServer.query('begin')
      const query = (text: string, values: unknown[]): unknown =>
        sameServer.query(text.replaceAll(`"${bench.schema}"`, `"${other.schema}"`), values)
      try {
        return await work({ query })
      } finally {
        await sameServer.query('rollback')
      }
    },
  }
  const { job } = await bookOnce(bench, async (run) => {
    thrown.push(await thrownBy(run.transaction(elsewhere, fn)))
    return run.pause({ for: '1m' })
  })
  await startAfresh(bench)
  await bookOnce(bench, async (run) => {
    thrown.push(await thrownBy(run.transaction(migrated, fn)))
  })
  await elsewhere.end()
  expect(thrown).toHaveLength(2)
  for (const each of thrown) {
    expect(each).toBeInstanceOf(InvalidOptionError)
    expect(each).toMatchObject({ option: 'db', message: expect.stringContaining('has no lease') })
  }
  expect(isCalled).toBe(false)
  expect(job).toMatchObject({ waiting: 'paused' })
})
