import { nodePostgresEngine } from '../../src/database/drivers/node-postgres.ts'
import type { Session } from '../../src/database/database.ts'

/** A session on a database, as the migrations and the start check use it. */
export async function sessionOn(url: string, timeoutMs = 60_000): Promise<Session> {
  // Closing the session closes all that this engine holds.
  const engine = nodePostgresEngine({ url })
  return engine.connect({ purpose: 'test', timeoutMs })
}
