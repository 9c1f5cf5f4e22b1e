import type { Mill } from 'millrace'
import type { TestServer } from '../../test/support/postgres-server.ts'
import { runSql } from '../../test/support/sql.ts'
import { fill, noop } from '../noop.ts'
import { atFreshPlace } from '../place.ts'
import type { Place, Usage } from '../place.ts'

/**
 * Jobs wait before a worker starts; measured until the last one is recorded, so that what the
 * worker still had to write when the last handler returned counts as well.
 */
export interface DrainResult {
  readonly concurrency: number
  readonly jobs: number
  readonly enqueue: Usage
  readonly drain: Usage
  readonly rssBytes: number
}

export function measureDrain(
  server: TestServer,
  options: { readonly jobs: number; readonly concurrency: number },
): Promise<DrainResult> {
  const { jobs, concurrency } = options
  return atFreshPlace(server, async (place) => {
    const enqueue = await place.measure((mill) => fill(mill, jobs))
    const drain = await place.measure((mill) => drainAll(mill, options))
    await expectAllCompleted(place, jobs)
    return { concurrency, jobs, enqueue, drain, rssBytes: process.memoryUsage.rss() }
  })
}

async function drainAll(
  mill: Mill,
  { jobs, concurrency }: { readonly jobs: number; readonly concurrency: number },
): Promise<void> {
  const worker = mill.worker({ concurrency })
  let left = jobs
  await new Promise<void>((resolve, reject) => {
    worker.handle(noop, () => {
      left -= 1
      if (left === 0) resolve()
    })
    worker.start().catch(reject)
  })
  await worker.stop()
}

async function expectAllCompleted(place: Place, jobs: number): Promise<void> {
  const [row] = await runSql(
    place.url,
    `select count(*)::int as completed from millrace.finished where state = 'completed' and run = 1`,
  )
  const completed = Number(row?.['completed'])
  if (completed !== jobs) {
    throw new Error(`${jobs} jobs were drained, ${completed} completed in one run`)
  }
}
