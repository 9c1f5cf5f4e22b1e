import { open } from 'millrace'
import type { Mill } from 'millrace'
import { liveHeap } from '../../test/support/heap.ts'
import type { TestServer } from '../../test/support/postgres-server.ts'
import { fill, noop } from '../noop.ts'
import { atFreshPlace } from '../place.ts'

/** What a draining worker's process holds early and at the end: it must not grow with what it ran. */
export interface MemoryResult {
  readonly early: MemoryReading
  readonly end: MemoryReading
}

export interface MemoryReading {
  readonly jobs: number
  readonly rssBytes: number
  /** After a full collection. */
  readonly heapBytes: number
}

// Jobs are enqueued in pieces, so that the answers of one call are not what is measured.
const PIECE = 10_000

export function measureMemory(server: TestServer, jobs: number): Promise<MemoryResult> {
  return atFreshPlace(server, async ({ url }) => {
    const mill = await open(url, { migrate: 'auto' })
    try {
      for (let left = jobs; left > 0; left -= PIECE) await fill(mill, Math.min(PIECE, left))
      const [early, end] = await readings(mill, [Math.ceil(jobs / 10), jobs])
      if (early === undefined || end === undefined) throw new Error('the memory was not read')
      return { early, end }
    } finally {
      await mill.close()
    }
  })
}

/** Drains, and reads the memory when so many handlers have returned. */
async function readings(mill: Mill, points: readonly number[]): Promise<readonly MemoryReading[]> {
  const worker = mill.worker({ concurrency: 100 })
  const read: MemoryReading[] = []
  let done = 0
  await new Promise<void>((resolve, reject) => {
    worker.handle(noop, () => {
      done += 1
      if (!points.includes(done)) return
      read.push({ jobs: done, ...memoryNow() })
      if (read.length === points.length) resolve()
    })
    worker.start().catch(reject)
  })
  await worker.stop()
  return read
}

function memoryNow(): { heapBytes: number; rssBytes: number } {
  const heapBytes = liveHeap()
  return { heapBytes, rssBytes: process.memoryUsage.rss() }
}
