import type { Client } from 'pg'
import { until } from './until.ts'

/** Resolves when this many sessions of the test's database wait for a lock of another session. */
export async function untilBlocked(sql: Client, sessions = 1): Promise<void> {
  await until(async () => {
    const { rows } = await sql.query(
      `select pid from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
    )
    return rows.length >= sessions
  })
}

/** How many sessions of the test's database wait for a lock now. */
export async function waiting(sql: Client): Promise<number> {
  const { rows } = await sql.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}
