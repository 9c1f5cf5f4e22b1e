import type { TestServer } from '../test/support/postgres-server.ts'
import type { BenchOptions } from './options.ts'
import { measureDrain } from './phases/drain.ts'
import type { DrainResult } from './phases/drain.ts'
import { measureEnqueue } from './phases/enqueue.ts'
import type { EnqueueResult } from './phases/enqueue.ts'
import { measureLatency } from './phases/latency.ts'
import type { LatencyResult } from './phases/latency.ts'
import { measureMemory } from './phases/memory.ts'
import type { MemoryResult } from './phases/memory.ts'

/** Everything measured once, in the same order each time, so that rounds can be compared. */
export interface Round {
  readonly drains: readonly DrainResult[]
  readonly enqueue: EnqueueResult | null
  readonly latency: LatencyResult | null
  readonly memory: MemoryResult | null
}

const LATENCY_JOBS = 300

export async function measureRound(server: TestServer, options: BenchOptions): Promise<Round> {
  const { jobs, concurrency, only } = options
  const isAsked = (phase: string): boolean => only.includes(phase)
  // Memory first: the heap of a process that has done more starts with room in it.
  const memory = isAsked('memory') ? await measureMemory(server, jobs * 2) : null
  const drains: DrainResult[] = []
  for (const each of isAsked('drain') ? concurrency : []) {
    drains.push(await measureDrain(server, { jobs, concurrency: each }))
  }
  const enqueue = isAsked('enqueue') ? await measureEnqueue(server, jobs) : null
  const latency = isAsked('latency')
    ? await measureLatency(server, Math.min(LATENCY_JOBS, jobs))
    : null
  return { drains, enqueue, latency, memory }
}
