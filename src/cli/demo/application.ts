import type pg from 'pg'
import type { Database } from '../../index.ts'

/**
 * The demo plays an application, which has a database of its own: it writes its own tables on its
 * own connections, opens its own transactions, and hands them to `mill.in`. On a server that is a
 * pg.Pool; the embedded one is a single connection, which it shares with Millrace.
 */
export interface Application {
  /** What the application gives to `open()`. */
  readonly database: Database
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Transaction {
  query(text: string, values?: unknown[]): Promise<unknown>
}

export async function serverApplication(url: string): Promise<Application> {
  const { Pool } = await import('pg')
  const pool = new Pool({ connectionString: url, max: CONNECTIONS })
  // A connection that dies while nobody uses it is replaced by the pool; without a listener it
  // would end the process.
  pool.on('error', () => undefined)
  return {
    database: pool,
    async query<Row extends object>(text: string, values: readonly unknown[] = []) {
      const { rows } = await pool.query<Row>(text, [...values])
      return rows
    },
    transaction: (work) => inTransaction(pool, work),
    close: () => pool.end(),
  }
}

export async function embeddedApplication(directory: string): Promise<Application> {
  const { PGlite } = await import('@electric-sql/pglite')
  const database = new PGlite(directory)
  await database.waitReady
  return {
    database,
    async query<Row extends object>(text: string, values: readonly unknown[] = []) {
      const { rows } = await database.query<Row>(text, [...values])
      return rows
    },
    transaction: (work) => database.transaction(work),
    close: () => database.close(),
  }
}

const CONNECTIONS = 5

async function inTransaction<T>(
  pool: pg.Pool,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}
