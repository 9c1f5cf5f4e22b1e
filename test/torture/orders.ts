import { Pool } from 'pg'
import type { PoolClient } from 'pg'
import { runSql } from '../support/sql.ts'

/** The application's own table, written in the transactions that enqueue. */
export interface Orders {
  /** Writes the orders of these numbers and whatever `beside` writes, or neither. */
  write<T>(numbers: readonly number[], beside: (transaction: PoolClient) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export async function createOrders(url: string): Promise<void> {
  await runSql(url, 'create table orders (number integer primary key)')
}

/** The numbers of the orders that were committed. */
export async function committedOrders(url: string): Promise<ReadonlySet<number>> {
  const rows = await runSql(url, 'select number from orders')
  return new Set(rows.map(({ number }) => Number(number)))
}

export function orders(url: string): Orders {
  const pool = new Pool({ connectionString: url, max: 4 })
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
