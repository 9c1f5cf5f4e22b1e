import type { PGlite } from '@electric-sql/pglite'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Queryable } from '../../src/database/database.ts'
import { borrowedTransaction } from '../../src/database/drivers/borrowed.ts'
import { InvalidOptionError } from '../../src/errors.ts'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'
import { startPglite } from '../support/pglite.ts'
import { runSql } from '../support/sql.ts'
import { failure, query } from './bench.ts'

let database: FreshDatabase
let pool: Pool
let sql: postgres.Sql
let pglite: PGlite

beforeAll(async () => {
  database = await freshDatabase()
  pool = new Pool({ connectionString: database.url, max: 2 })
  sql = postgres(database.url, { max: 2, transform: postgres.camel })
  pglite = await startPglite()
  const table = 'create table taken (id int4 primary key)'
  await Promise.all([runSql(database.url, table), pglite.exec(table)])
}, 120_000)
beforeEach(async () => {
  await Promise.all([runSql(database.url, 'delete from taken'), pglite.exec('delete from taken')])
})
afterAll(async () => {
  await Promise.all([pool.end(), sql.end(), pglite.close()])
  await database.drop()
})

/** A transaction of each library, opened as its users do. */
interface Library {
  readonly name: string
  transaction(work: (tx: unknown) => Promise<void>): Promise<void>
  ids(): Promise<unknown>
  /** Rolls the transaction back at its end if any statement failed, caught or not. */
  readonly remembersErrors?: true | undefined
}

const onServer = () => runSql(database.url, 'select id from taken order by id')

const libraries: readonly Library[] = [
  {
    name: 'a pg client of a pool',
    async transaction(work) {
      const client = await pool.connect()
      await client.query('begin')
      try {
        await work(client)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    ids: onServer,
  },
  {
    name: 'a postgres.js transaction',
    transaction: (work) => sql.begin((tx) => work(tx)),
    ids: onServer,
    remembersErrors: true,
  },
  {
    name: 'a postgres.js savepoint',
    transaction: (work) => sql.begin((outer) => outer.savepoint((tx) => work(tx))),
    ids: onServer,
    remembersErrors: true,
  },
  {
    name: 'a PGlite transaction',
    transaction: (work) => pglite.transaction((tx) => work(tx)),
    ids: async () => (await pglite.query('select id from taken order by id')).rows,
  },
  {
    name: 'anything with query that answers an array',
    transaction: (work) =>
      pglite.transaction((tx) =>
        work({
          query: async (text: string, values: unknown[]) => (await tx.query(text, values)).rows,
        }),
      ),
    ids: async () => (await pglite.query('select id from taken order by id')).rows,
  },
]

const insert = (id: number) => query('insert into taken (id) values ($1::int4)', [id], 'take')

describe.each(libraries)('$name', ({ transaction, ids, remembersErrors }) => {
  const inside = (work: (borrowed: Queryable) => Promise<unknown>) =>
    transaction(async (tx) => {
      await work(borrowedTransaction(tx))
    })

  test('E1: a commit keeps what was written through it, a rollback does not', async () => {
    await inside((borrowed) => borrowed.query(insert(1)))
    const own = new Error('mine')
    const undone = inside(async (borrowed) => {
      await borrowed.query(insert(2))
      throw own
    })
    await expect(undone).rejects.toThrow(own)
    expect(await ids()).toEqual([{ id: 1 }])
  })

  test('values and columns are those of our own sessions', async () => {
    await inside(async (borrowed) => {
      const rows = await borrowed.query(
        query(
          `select $1::text as some_text, $2::int4 as an_int, $3::float8 as f, $4::boolean as is_true, $5::text as nothing,
             ($6::text::json)::text as a_document, json_typeof($6::text::json) as json_type,
             cardinality($7::text[]) as n, extract(epoch from $8::timestamptz)::float8 as at`,
          ["a'ü", 42, Infinity, true, null, '"x"', '{a,"b c",NULL}', '-infinity'],
        ),
      )
      expect(rows).toEqual([
        {
          some_text: "a'ü",
          an_int: 42,
          f: Infinity,
          is_true: true,
          nothing: null,
          a_document: '"x"',
          json_type: 'string',
          n: 3,
          at: -Infinity,
        },
      ])
    })
  })

  test('nothing is left prepared on his connection', async () => {
    await inside(async (borrowed) => {
      const text =
        "select count(*)::int4 as n from pg_prepared_statements where statement like '%mark_of_ours%' and $1::int4 = 1"
      await borrowed.query(query('select $1::int4 as mark_of_ours', [1]))
      expect(await borrowed.query(query(text, [1]))).toEqual([{ n: 0 }])
    })
  })

  test('a savepoint takes back a statement of ours that failed, unless the library remembers it', async () => {
    const attempt = inside(async (borrowed) => {
      await borrowed.query(insert(4))
      await borrowed.query(query('savepoint ours'))
      await failure(borrowed.query(insert(4)))
      await borrowed.query(query('rollback to savepoint ours'))
      await borrowed.query(insert(5))
    })
    const outcome = await attempt.then(
      () => 'committed',
      (error: unknown) => String(error),
    )
    expect(outcome).toContain(remembersErrors === true ? 'duplicate key' : 'committed')
    expect(await ids()).toEqual(remembersErrors === true ? [] : [{ id: 4 }, { id: 5 }])
  })

  test('an error is a DatabaseError with its cause, and of known outcome', async () => {
    const attempt = inside(async (borrowed) => {
      await borrowed.query(insert(3))
      expect(await failure(borrowed.query(insert(3)))).toMatchObject({
        sqlstate: '23505',
        statement: 'take',
        outcomeUnknown: false,
        cause: expect.anything(),
      })
      throw new Error('undo')
    })
    await expect(attempt).rejects.toThrow(remembersErrors === true ? /undo|duplicate/ : 'undo')
    expect(await ids()).toEqual([])
  })
})

describe('what is no transaction is refused', () => {
  const whole = /wants a transaction; this is a pool or a whole database/
  const unknown = /does not know this transaction: pass one of pg, postgres\.js, PGlite/

  test('a pool, a whole database, a reserved connection', async () => {
    const reserved = await sql.reserve()
    for (const tx of [pool, sql, pglite, reserved]) {
      expect(() => borrowedTransaction(tx)).toThrow(InvalidOptionError)
      expect(() => borrowedTransaction(tx)).toThrow(whole)
    }
    reserved.release()
  })

  test.each([undefined, null, 1, 'begin', {}, [], () => {}, { query: 'text' }, { execute() {} }])(
    '%s',
    (tx) => {
      expect(() => borrowedTransaction(tx)).toThrow(InvalidOptionError)
      expect(() => borrowedTransaction(tx)).toThrow(unknown)
    },
  )

  test('a pg client on which no transaction is open', async () => {
    const client = await pool.connect()
    try {
      expect(() => borrowedTransaction(client)).toThrow(/none is open on this client/)
    } finally {
      client.release()
    }
  })
})

describe('what became of the transaction is seen', () => {
  test('a pg client after the commit', async () => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const borrowed = borrowedTransaction(client)
      await client.query('commit')
      const error = await failure(borrowed.query(insert(5)))
      expect(error.message).toMatch(/statement take was not sent: its transaction has ended/)
    } finally {
      client.release()
    }
    expect(await onServer()).toEqual([])
  })

  test('a pg client in a transaction that failed', async () => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const borrowed = borrowedTransaction(client)
      await client.query('select nonsense').catch(() => {})
      const error = await failure(borrowed.query(insert(6)))
      expect(error).toMatchObject({ sqlstate: '25P02', retryable: false })
      expect(error.message).toContain(
        'An earlier statement of this transaction failed: roll it back.',
      )
      await client.query('rollback')
    } finally {
      client.release()
    }
  })

  test('a PGlite transaction after its end', async () => {
    const borrowed = await pglite.transaction(async (tx) => borrowedTransaction(tx))
    const error = await failure(borrowed.query(insert(7)))
    expect(error.message).toContain('its transaction has ended')
  })

  test.each([
    ['camel', postgres.toCamel],
    ['pascal', postgres.toPascal],
    ['kebab', postgres.toKebab],
  ])('columns renamed to %s case get their names back', async (_name, rename) => {
    const row = { [rename('job_id')]: 'a', [rename('lease_ends_at')]: 'b', [rename('run')]: 1 }
    const borrowed = borrowedTransaction({ query: async () => [row] })
    expect(await borrowed.query(query('select'))).toEqual([
      { job_id: 'a', lease_ends_at: 'b', run: 1 },
    ])
  })

  test('an answer of no known form', async () => {
    const borrowed = borrowedTransaction({ query: async () => ({ recordset: [] }) })
    const error = await failure(borrowed.query(insert(8)))
    expect(error.message).toContain('neither { rows } nor an array')
  })
})
