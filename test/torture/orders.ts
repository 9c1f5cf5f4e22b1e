import { Pool } from 'pg'
import type { PoolClient } from 'pg'
import { runSql } from '../support/sql.ts'
import type { Fact } from './history/fact.ts'

/** The application's own tables: orders are written in the transactions that enqueue, effects in those of runs. */
export interface Orders {
  /** Writes the orders of these numbers and whatever `beside` writes, or neither. */
  write<T>(numbers: readonly number[], beside: (transaction: PoolClient) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export async function createOrders(url: string): Promise<void> {
  await runSql(
    url,
    `create table orders (number integer primary key);
     create table effects (job text not null, run int not null, worker text not null)`,
  )
}

/** The numbers of the orders that were committed. */
export async function committedOrders(url: string): Promise<ReadonlySet<number>> {
  const rows = await runSql(url, 'select number from orders')
  return new Set(rows.map(({ number }) => Number(number)))
}

/** What runs wrote in `run.transaction`. */
export async function effectFacts(url: string): Promise<readonly Fact[]> {
  const rows = await runSql(url, 'select job, run, worker from effects')
  const told = { process: 'tables', at: Date.now(), what: 'effect' } as const
  return rows.map(({ job, run, worker }) => {
    return { ...told, job: String(job), run: Number(run), worker: String(worker) }
  })
}

/** With `withinMs` a statement without an answer fails after that long, as it should in an application. */
export function orders(url: string, { withinMs }: { readonly withinMs?: number } = {}): Orders {
  const patience =
    withinMs === undefined ? {} : { query_timeout: withinMs, connectionTimeoutMillis: withinMs }
  const pool = new Pool({ connectionString: url, max: 4, ...patience })
  // A lost connection fails the query on it; the next transaction has another one.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return {
    async write(numbers, beside) {
      const transaction = await pool.connect()
      let isSound = false
      try {
        await transaction.query('begin')
        await transaction.query('insert into orders select unnest($1::int[])', [[...numbers]])
        const result = await beside(transaction)
        await transaction.query('commit')
        isSound = true
        return result
      } catch (error) {
        await transaction.query('rollback').then(
          () => (isSound = true),
          () => undefined,
        )
        throw error
      } finally {
        transaction.release(!isSound)
      }
    },
    close: () => pool.end(),
  }
}
