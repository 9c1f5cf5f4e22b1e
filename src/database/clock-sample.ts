import type { DatabaseClock } from '../core/clock.ts'
import type { Queryable } from './database.ts'
import type { Namespace } from './namespace.ts'
import { bind, statement } from './statement.ts'
import type { Statement } from './statement.ts'

// The one statement that reads the database's clock (beside the SQL function for triggers): every
// other takes $now from the clock that this one sets.
export const sampleClock: Statement<Record<string, never>, { database_time: number }> = statement(
  'sample_clock',
  `select (extract(epoch from clock_timestamp()) * 1000)::float8 as database_time`,
)

/** Takes one sample of the database's clock, over the session that will be used next. */
export async function takeSample(
  session: Queryable,
  clock: DatabaseClock,
  namespace: Namespace,
): Promise<void> {
  const query = bind(sampleClock, {}, namespace)
  const sentAt = clock.monotonic()
  const [row] = await session.query(query)
  const receivedAt = clock.monotonic()
  clock.observe({ sentAt, receivedAt, databaseTime: Number(row?.['database_time']) })
}
