import type { TestServer } from '../../test/support/postgres-server.ts'
import { startChild } from './child-process.ts'
import type { AtMark, ChildResult, ChildTask } from './child-process.ts'
import type { Contender } from './contenders.ts'
import { placeFor } from './places.ts'
import type { StorePlace, StoreUsage } from './places.ts'
import type { Figures } from './samples.ts'

/** At an empty place, which is gone afterwards. */
export async function atPlace<T>(
  contender: Contender,
  server: TestServer,
  work: (place: StorePlace) => Promise<T>,
): Promise<T> {
  const place = await placeFor(contender.system, server)
  try {
    return await work(place)
  } finally {
    await place.close()
  }
}

/** Watches a place between the two marks of a child. */
export interface Watch {
  readonly atMark: AtMark
  /** What the measured window cost, per job. */
  cost(result: ChildResult): Figures
}

export function watch(place: StorePlace): Watch {
  const readings: StoreUsage[] = []
  const spent = (figure: keyof StoreUsage): number | null => {
    const [before, after] = [readings[0]?.[figure] ?? null, readings[1]?.[figure] ?? null]
    return before === null || after === null ? null : after - before
  }
  return {
    async atMark() {
      readings.push(await place.usage())
    },
    cost(result) {
      const jobs = result['jobs'] ?? 0
      return {
        nodeMicros: per(result['nodeMs'] ?? null, jobs, 1_000),
        serverMicros: per(spent('cpuMs'), jobs, 1_000),
        walBytes: per(spent('walBytes'), jobs),
        rssBytes: result['rssBytes'] ?? null,
      }
    },
  }
}

/** One child from beginning to end, and what its window cost. */
export async function runTask(
  place: StorePlace,
  given: Omit<ChildTask, 'url'>,
): Promise<{ readonly result: ChildResult; readonly cost: Figures }> {
  const watched = watch(place)
  const result = await startChild({ ...given, url: place.url }, watched.atMark).result
  return { result, cost: watched.cost(result) }
}

/** Jobs a second; null where no time passed between them. */
export function rateOf(jobs: number, elapsedMs: number | null | undefined): number | null {
  return jobs > 0 && elapsedMs !== null && elapsedMs !== undefined && elapsedMs > 0
    ? (jobs / elapsedMs) * 1_000
    : null
}

function per(total: number | null, jobs: number, factor = 1): number | null {
  return total === null || jobs === 0 ? null : (total / jobs) * factor
}
