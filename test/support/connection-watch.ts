import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { quoted } from '../../src/database/namespace.ts'

/** Looks again and again how many connections each of these roles has: a role for each process tells them apart. */
export interface ConnectionWatch {
  /** The most that each had at once, by role, and all of them together. */
  readonly most: ReadonlyMap<string, number>
  readonly mostTogether: number
  end(): Promise<void>
}

const LOOK_EVERY = 10

/** Makes the roles, which may do everything. */
export async function watchConnections(
  url: string,
  roles: readonly string[],
): Promise<ConnectionWatch> {
  const sql = new Client({ connectionString: url })
  await sql.connect()
  for (const role of roles) await sql.query(`create role ${quoted(role)} superuser login`)
  const most = new Map<string, number>()
  let mostTogether = 0
  let isEnded = false

  async function look(): Promise<void> {
    const { rows } = await sql.query<{ role: string; connections: number }>(
      `select usename as role, count(*)::int as connections
       from pg_stat_activity
       where usename = any ($1)
       group by usename`,
      [roles],
    )
    for (const { role, connections } of rows) {
      most.set(role, Math.max(connections, most.get(role) ?? 0))
    }
    const together = rows.reduce((sum, { connections }) => sum + connections, 0)
    mostTogether = Math.max(mostTogether, together)
  }

  async function lookOn(): Promise<void> {
    while (!isEnded) {
      await look()
      await pause(LOOK_EVERY)
    }
    await sql.end()
  }

  const looking = lookOn()
  return {
    most,
    get mostTogether() {
      return mostTogether
    },
    end() {
      isEnded = true
      return looking
    },
  }
}
