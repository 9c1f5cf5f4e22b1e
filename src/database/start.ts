import { databaseClock } from '../core/clock.ts'
import type { Clock, DatabaseClock } from '../core/clock.ts'
import { NotMigratedError } from '../errors.ts'
import { checkDatabase } from './check.ts'
import { takeSample } from './clock-sample.ts'
import type { Engine } from './database.ts'
import { migrateUp, MIGRATION_TIMEOUT } from './migrate.ts'
import type { Namespace } from './namespace.ts'

/** What must be so before a client does anything: its clock is set, and the tables are those it needs. */
export interface Timing {
  readonly clock: Clock
  /** The same clock when it is set by the database's; null when it is moved by hand. */
  readonly databaseClock: DatabaseClock | null
}

/** No statement of ours takes longer unless the connection is dead. */
export const STATEMENT_TIMEOUT = 30_000

/** Time is the database's, unless a test moves it by hand. */
export function timingOf(manual: Clock | undefined): Timing {
  if (manual !== undefined) return { clock: manual, databaseClock: null }
  const clock = databaseClock()
  return { clock, databaseClock: clock }
}

/**
 * The start check; the clock is set before anything asks it, since it never goes back. With `auto`
 * whatever is found is given to the migrations, on a session of their own: a step may take as long as
 * an index takes to build, and so may the wait for another starter's.
 */
export async function startCheck(
  engine: Engine,
  place: Namespace,
  options: { readonly migrate: 'check' | 'auto'; readonly clock: DatabaseClock | null },
): Promise<void> {
  const session = await engine.connect({ purpose: 'check', timeoutMs: STATEMENT_TIMEOUT })
  try {
    if (options.clock !== null) await takeSample(session, options.clock, place)
    let problems = await checkDatabase(session, place)
    if (problems.length > 0 && options.migrate === 'auto') {
      await migrate(engine, place)
      problems = await checkDatabase(session, place)
    }
    if (problems.length > 0) throw new NotMigratedError(place.schema, problems)
  } finally {
    await session.close()
  }
}

async function migrate(engine: Engine, place: Namespace): Promise<void> {
  const session = await engine.connect({ purpose: 'migrate', timeoutMs: MIGRATION_TIMEOUT })
  try {
    await migrateUp(session, place)
  } finally {
    await session.close()
  }
}
