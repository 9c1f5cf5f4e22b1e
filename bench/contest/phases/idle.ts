import type { TestServer } from '../../../test/support/postgres-server.ts'
import { startServer } from '../../../test/support/postgres-server.ts'
import { runSql } from '../../../test/support/sql.ts'
import { SERVER_SETTINGS } from '../../environment.ts'
import { startChild } from '../child-process.ts'
import type { Contender } from '../contenders.ts'
import { atPlace } from '../measure.ts'
import type { Figures } from '../samples.ts'

/** What an idle worker asks of the server, counted by the server on one that counts statements. */
export async function measureIdle(contender: Contender, seconds: number): Promise<Figures> {
  const server = await startServer({
    settings: {
      ...SERVER_SETTINGS,
      shared_preload_libraries: 'pg_stat_statements',
      autovacuum: 'off',
    },
  })
  try {
    await runSql(server.url(), 'create extension pg_stat_statements')
    return await watched(server, contender, seconds)
  } finally {
    await server.close()
  }
}

function watched(server: TestServer, contender: Contender, seconds: number): Promise<Figures> {
  return atPlace(contender, server, async ({ url }) => {
    const counts: number[] = []
    const forMs = seconds * 1_000
    const options = { forMs, settleMs: Math.min(forMs, SETTLE_MS) }
    await startChild({ contender, url, task: 'idle', options }, async () => {
      counts.push(await statementsIn(server, new URL(url).pathname.slice(1)))
    }).result
    const [before = Number.NaN, after = Number.NaN] = counts
    return { statements: (after - before) / seconds }
  })
}

// Migrations, the first claims and the proof of the listener are over then.
const SETTLE_MS = 5_000

async function statementsIn(server: TestServer, database: string): Promise<number> {
  const text = `
    select coalesce(sum(s.calls), 0)::float8 as calls
    from pg_stat_statements s
    join pg_database d on d.oid = s.dbid
    where d.datname = $1 and s.toplevel`
  const [row] = await runSql(server.url(), text, [database])
  return Number(row?.['calls'])
}
