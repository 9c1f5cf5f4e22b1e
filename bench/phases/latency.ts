import { setTimeout as pause } from 'node:timers/promises'
import { open } from 'millrace'
import type { Mill } from 'millrace'
import type { TestServer } from '../../test/support/postgres-server.ts'
import { noop } from '../noop.ts'
import { atFreshPlace } from '../place.ts'

/** From the call of enqueue to the start of the handler in an idle worker, in milliseconds. */
export interface LatencyResult {
  readonly jobs: number
  readonly everyMs: number
  readonly p50: number
  readonly p99: number
}

const EVERY_MS = 20
// Until the listener is proven and the statements are prepared.
const WARM_UP = 25

export function measureLatency(server: TestServer, jobs: number): Promise<LatencyResult> {
  return atFreshPlace(server, async ({ url }) => {
    const mill = await open(url, { migrate: 'auto' })
    try {
      const waits = (await waitsOf(mill, jobs + WARM_UP)).slice(WARM_UP)
      const sorted = waits.toSorted((a, b) => a - b)
      const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
      return { jobs, everyMs: EVERY_MS, p50: at(0.5), p99: at(0.99) }
    } finally {
      await mill.close()
    }
  })
}

async function waitsOf(mill: Mill, jobs: number): Promise<readonly number[]> {
  const asked = new Map<number, number>()
  const waits: number[] = []
  const worker = mill.worker().handle(noop, ({ number }) => {
    waits.push(performance.now() - (asked.get(number) ?? Number.NaN))
  })
  await worker.start()
  for (let number = 0; number < jobs; number += 1) {
    asked.set(number, performance.now())
    await Promise.all([mill.enqueue(noop, { number }), pause(EVERY_MS)])
  }
  while (waits.length < jobs) await pause(EVERY_MS)
  await worker.stop()
  return waits
}
