import { migrations } from 'millrace'
import { startServer } from '../../support/postgres-server.ts'
import type { TestServer } from '../../support/postgres-server.ts'
import { runSql } from '../../support/sql.ts'
import { createOrders } from '../orders.ts'
import { complaintCounts } from './complaints.ts'
import { makeCrew } from './crew.ts'
import { OWN_TABLES } from './own-tables.ts'
import type { ChaosReport } from './report.ts'
import { stillDead, supervise, windDown } from './supervisor.ts'
import type { ChaosOptions } from './supervisor.ts'
import { chaosEvidence } from './testimony.ts'

/** `npm run torture -- chaos`, on a server of its own: durable, since it is crashed. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const settings = { fsync: 'on', max_connections: String(CONNECTIONS) }
  const server = await startServer({ settings })
  try {
    return await chaosOn(server, options)
  } finally {
    await server.close()
  }
}

// A few more than all processes need at the same time.
const CONNECTIONS = 140
const DATABASE = 'torture'

async function chaosOn(server: TestServer, options: ChaosOptions): Promise<ChaosReport> {
  const url = await server.createDatabase(DATABASE)
  const tables = migrations(url)
  try {
    await tables.up()
  } finally {
    await tables.close()
  }
  await createOrders(url)
  await runSql(url, OWN_TABLES)
  const crew = makeCrew(url, options)
  try {
    const strikes = await supervise({ server, database: DATABASE, crew }, options)
    const dead = await stillDead(crew)
    await windDown(crew, url)
    const evidence = await chaosEvidence(url, crew.logs, strikes)
    return {
      ...evidence,
      strikes,
      processes: crew.begun,
      complaints: complaintCounts(crew.logs),
      violations: [...crew.violations, ...dead, ...evidence.violations],
    }
  } finally {
    await crew.close()
  }
}
