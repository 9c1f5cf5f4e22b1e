import { manualClock } from '../../src/core/manual-clock.ts'
import type { Clock } from '../../src/core/clock.ts'
import { engineFor } from '../../src/database/connect.ts'
import { executor } from '../../src/database/executor.ts'
import type { Executor } from '../../src/database/executor.ts'
import { namespace } from '../../src/database/namespace.ts'
import { NOON } from './mill.ts'

/**
 * Lanes on a schema that is there, for tests of one part alone. Its clock stands still at noon by
 * default; a statement waits 20 s for its answer.
 */
export async function executorOn(
  { url, schema }: { readonly url: string; readonly schema: string },
  clock: Clock = manualClock(NOON),
  timeoutMs = 20_000,
): Promise<Executor & AsyncDisposable> {
  const engine = await engineFor(url)
  const statements = executor({
    engine,
    namespace: namespace(schema),
    origin: { schema, prefix: '' },
    clock,
    databaseClock: null,
    timeoutMs,
    prepare: true,
  })
  async function close(): Promise<void> {
    await statements.close()
    await engine.close()
  }
  return { ...statements, close, [Symbol.asyncDispose]: close }
}
