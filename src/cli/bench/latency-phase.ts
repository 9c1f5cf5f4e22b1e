import { setTimeout as pause } from 'node:timers/promises'
import type { Bench } from './enqueue-phases.ts'
import { percentile } from './figures.ts'
import type { Latency } from './figures.ts'
import { NOOP } from './noop.ts'
import { elapsedSince } from './stopwatch.ts'

/** One job now and then, so that each finds the worker idle. */
export async function measureLatency(bench: Bench, jobs: number): Promise<Latency> {
  const waits = (await waitsOf(bench, jobs + WARM_UP)).slice(WARM_UP)
  return { jobs, p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) }
}

const EVERY = 20
// Until the listener is proven and the statements are prepared.
const WARM_UP = 25

async function waitsOf({ mill, signal }: Bench, jobs: number): Promise<readonly number[]> {
  const asked = new Map<number, bigint>()
  const waits: number[] = []
  const worker = mill.worker().handle(NOOP, ({ number }) => {
    const begin = asked.get(number)
    if (begin !== undefined) waits.push(elapsedSince(begin))
  })
  await worker.start()
  try {
    for (let number = 0; number < jobs; number += 1) {
      asked.set(number, process.hrtime.bigint())
      await Promise.all([mill.enqueue(NOOP, { number }), pause(EVERY, undefined, { signal })])
    }
    while (waits.length < jobs) await pause(EVERY, undefined, { signal })
  } finally {
    await worker.stop()
  }
  return waits
}
