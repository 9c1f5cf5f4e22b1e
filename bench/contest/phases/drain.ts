import type { TestServer } from '../../../test/support/postgres-server.ts'
import type { Contender } from '../contenders.ts'
import { atPlace, rateOf, runTask } from '../measure.ts'
import type { Figures } from '../samples.ts'

/** One process fills, a fresh one drains. What one job cost the log from asking to its end counts too. */
export function measureDrain(
  server: TestServer,
  contender: Contender,
  size: { readonly waiting: number; readonly drained: number; readonly limitMs: number },
): Promise<Figures> {
  return atPlace(contender, server, async (place) => {
    const fill = { contender, task: 'bulk', options: { count: size.waiting } } as const
    const filled = await runTask(place, fill)
    const options = { count: size.drained, limitMs: size.limitMs }
    const { result, cost } = await runTask(place, { contender, task: 'drain', options })
    return {
      rate: rateOf(result['timed'] ?? 0, result['elapsedMs']),
      ...cost,
      walBytes: both(filled.cost.walBytes, cost.walBytes),
      dead: await place.deadRows(),
    }
  })
}

/** Alone where the other is not known. */
function both(one: number | null | undefined, other: number | null | undefined): number | null {
  if (one === null || one === undefined || other === null || other === undefined) return null
  return one + other
}
