import type { TestServer } from '../../test/support/postgres-server.ts'
import { runSql } from '../../test/support/sql.ts'
import { serverCpuMs } from '../server-cpu.ts'
import { SYSTEMS } from './contenders.ts'
import type { System } from './contenders.ts'
import { startRedis } from './redis-server.ts'

/** An empty store for one measurement, and what its server has used so far. */
export interface StorePlace {
  readonly url: string
  /** The processor's time of the server in milliseconds, and the log it wrote; null where there is none. */
  usage(): Promise<StoreUsage>
  /** Rows that are dead and not yet cleaned up, in all tables. */
  deadRows(): Promise<number | null>
  close(): Promise<void>
}

export interface StoreUsage {
  readonly cpuMs: number | null
  readonly walBytes: number | null
}

let places = 0

export function placeFor(system: System, server: TestServer): Promise<StorePlace> {
  return SYSTEMS[system].store === 'redis' ? redisPlace() : postgresPlace(server)
}

async function postgresPlace(server: TestServer): Promise<StorePlace> {
  places += 1
  const name = `contest_${places}`
  const url = await server.createDatabase(name)
  // The first change of each page after a checkpoint logs the whole page: all begin alike.
  await runSql(server.url(), 'checkpoint')
  return {
    url,
    usage: async () => ({ cpuMs: serverCpuMs(server.pid), walBytes: await walBytes(server) }),
    deadRows: () => numberOf(url, DEAD_ROWS),
    close: async () => {
      await runSql(server.url(), `drop database ${name} with (force)`)
    },
  }
}

async function redisPlace(): Promise<StorePlace> {
  const redis = await startRedis()
  return {
    url: redis.url,
    usage: () => Promise.resolve({ cpuMs: serverCpuMs(redis.pid), walBytes: null }),
    deadRows: () => Promise.resolve(null),
    close: () => redis.close(),
  }
}

const DEAD_ROWS = 'select coalesce(sum(n_dead_tup), 0)::float8 as value from pg_stat_user_tables'

// Asked from the server's own database: the contender's sees nothing of the bench.
function walBytes(server: TestServer): Promise<number> {
  return numberOf(server.url(), `select (pg_current_wal_insert_lsn() - '0/0')::float8 as value`)
}

async function numberOf(url: string, text: string): Promise<number> {
  const [row] = await runSql(url, text)
  return Number(row?.['value'])
}
