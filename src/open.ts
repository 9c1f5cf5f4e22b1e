import { connect } from './client.ts'
import type { Mill } from './mill.ts'
import { engineFor } from './database/connect.ts'
import type { Database } from './database/connect.ts'
import { openSettings } from './open-options.ts'
import type { OpenOptions } from './open-options.ts'

/**
 * Opens a client. `open()` alone is a PostgreSQL embedded in this process, in memory and gone with
 * it; otherwise pass a URL, `'memory:'`, a directory (`'./data'`), `{ env: 'DATABASE_URL' }`, or your
 * own pg.Pool, postgres.js `sql` or PGlite, of which the configuration is used.
 *
 * Throws `NotMigratedError` with the command to run when the tables are not at this release's
 * version, `InvalidOptionError` for anything it does not know, `DatabaseError` when the database
 * cannot be reached.
 *
 * @example
 * await using mill = await open({ env: 'DATABASE_URL' })
 */
export async function open(
  ...given: readonly [] | readonly [database: Database, options?: OpenOptions]
): Promise<Mill> {
  const [database, options = {}] = given
  const isOurs = given.length === 0 || typeof database === 'string' || isVariable(database)
  // Options are checked before anything is opened, and the engine is only then known to be embedded.
  openSettings(options, false)
  const engine = await (given.length === 0 ? engineFor() : engineFor(given[0]))
  return connect(engine, openSettings(options, isOurs && engine.driver === 'pglite'))
}

function isVariable(database: unknown): boolean {
  return typeof database === 'object' && database !== null && 'env' in database
}
