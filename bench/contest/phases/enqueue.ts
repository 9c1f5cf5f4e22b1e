import type { TestServer } from '../../../test/support/postgres-server.ts'
import type { Contender } from '../contenders.ts'
import { atPlace, rateOf, runTask } from '../measure.ts'
import type { Figures, Phase } from '../samples.ts'

/** Each kind of asking at an empty place of its own: one caller, fifty, and the whole at once. */
export async function measureEnqueue(
  server: TestServer,
  contender: Contender,
  jobs: number,
): Promise<readonly { readonly phase: Phase; readonly figures: Figures }[]> {
  const single = (count: number, inFlight: number): Promise<Figures> =>
    atPlace(contender, server, async (place) => {
      const options = { count, inFlight }
      const { result, cost } = await runTask(place, { contender, task: 'singles', options })
      return { rate: rateOf(count, result['elapsedMs']), ...cost }
    })
  const bulk = await atPlace(contender, server, async (place) => {
    const options = { count: jobs }
    const { result, cost } = await runTask(place, { contender, task: 'bulk', options })
    return { rate: rateOf(result['jobs'] ?? 0, result['elapsedMs']), ...cost }
  })
  return [
    { phase: 'one by one', figures: await single(Math.ceil(jobs / ONE_BY_ONE_SHARE), 1) },
    { phase: 'in flight', figures: await single(Math.ceil(jobs / IN_FLIGHT_SHARE), IN_FLIGHT) },
    { phase: 'bulk', figures: bulk },
  ]
}

export const IN_FLIGHT = 50

// The slower the way, the fewer jobs: each takes a few seconds.
const ONE_BY_ONE_SHARE = 50
const IN_FLIGHT_SHARE = 10
