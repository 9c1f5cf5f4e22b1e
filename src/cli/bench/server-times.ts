import type pg from 'pg'
import { percentile } from './figures.ts'
import type { Figures, ServerFacts } from './figures.ts'
import { elapsedSince } from './stopwatch.ts'

/**
 * What the way to the server and its disk allow, whoever uses them: the time of an answer, and of a
 * commit. What Millrace needs is told beside them.
 */
export async function measureServer(
  client: pg.Client,
  schema: string,
): Promise<Pick<Figures, 'server' | 'roundTripMs' | 'commitMs'>> {
  const server = await serverFacts(client)
  const roundTripMs = await medianOf(() => client.query('select 1'))
  const table = `${schema}.commits`
  await client.query(`create table ${table} (at timestamptz not null)`)
  const commitMs = await medianOf(() => client.query(`insert into ${table} values (now())`))
  return { server, roundTripMs, commitMs }
}

const WARM_UP = 20
const TIMES = 200

async function medianOf(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < WARM_UP + TIMES; count += 1) {
    const begin = process.hrtime.bigint()
    await ask()
    if (count >= WARM_UP) times.push(elapsedSince(begin))
  }
  return percentile(times, 0.5)
}

async function serverFacts(client: pg.Client): Promise<ServerFacts> {
  const { rows } = await client.query<ServerFacts>(READ_FACTS)
  return rows[0] ?? { version: 'unknown', synchronousCommit: 'unknown' }
}

const READ_FACTS = `
select
  current_setting('server_version') as version,
  current_setting('synchronous_commit') as "synchronousCommit"`
