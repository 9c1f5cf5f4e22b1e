import type { TestServer } from '../../test/support/postgres-server.ts'
import { noop } from '../noop.ts'
import { atFreshPlace } from '../place.ts'
import type { Place } from '../place.ts'

/** Jobs a second for the two ways to enqueue singly; the third, all at once, is the drain's own filling. */
export interface EnqueueResult {
  readonly oneByOne: number
  readonly inFlight: number
  readonly inFlightCount: number
}

const IN_FLIGHT = 50

export function measureEnqueue(server: TestServer, jobs: number): Promise<EnqueueResult> {
  return atFreshPlace(server, async (place) => {
    const oneByOne = await rate(place, { jobs: Math.ceil(jobs / 50), inFlight: 1 })
    const inFlight = await rate(place, { jobs: Math.ceil(jobs / 5), inFlight: IN_FLIGHT })
    return { oneByOne, inFlight, inFlightCount: IN_FLIGHT }
  })
}

async function rate(
  place: Place,
  { jobs, inFlight }: { readonly jobs: number; readonly inFlight: number },
): Promise<number> {
  const { elapsedMs } = await place.measure(async (mill) => {
    let next = 0
    async function enqueueNext(): Promise<void> {
      while (next < jobs) {
        next += 1
        await mill.enqueue(noop, { number: next })
      }
    }
    await Promise.all(Array.from({ length: inFlight }, enqueueNext))
  })
  return (jobs / elapsedMs) * 1_000
}
