import type { TestServer } from '../../../test/support/postgres-server.ts'
import type { Contender } from '../contenders.ts'
import { atPlace, runTask } from '../measure.ts'
import type { Figures } from '../samples.ts'

export const EVERY_MS = 20

/** From the call of enqueue to the start of the handler, one job at a time. */
export function measureLatency(
  server: TestServer,
  contender: Contender,
  jobs: number,
): Promise<Figures> {
  return atPlace(contender, server, async (place) => {
    const options = { count: jobs, everyMs: EVERY_MS }
    const { result, cost } = await runTask(place, { contender, task: 'latency', options })
    return { p50: result['p50'] ?? null, p99: result['p99'] ?? null, ...cost }
  })
}
