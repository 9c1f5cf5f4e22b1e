import { cpus } from 'node:os'
import type { TestServer } from '../test/support/postgres-server.ts'
import { runSql } from '../test/support/sql.ts'

/** Over those of the test server: durable as in production, with room for the checkpoints of a bench. */
export const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  synchronous_commit: 'on',
  fsync: 'on',
}

export interface Environment {
  readonly node: string
  readonly postgres: string
  readonly cores: number
  readonly processor: string
  readonly settings: Readonly<Record<string, string>>
}

export async function environmentOf(server: TestServer): Promise<Environment> {
  const [row] = await runSql(server.url(), `select current_setting('server_version') as version`)
  const [processor] = cpus()
  return {
    node: process.version,
    postgres: String(row?.['version']),
    cores: cpus().length,
    processor: processor?.model ?? 'unknown',
    settings: SERVER_SETTINGS,
  }
}
