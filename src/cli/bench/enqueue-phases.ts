import type { Mill } from '../../index.ts'
import type { Phase } from './figures.ts'
import { NOOP } from './noop.ts'
import type { NoopInput } from './noop.ts'
import { startStopwatch } from './stopwatch.ts'

/** What phases work with. */
export interface Bench {
  readonly mill: Mill
  readonly signal: AbortSignal
}

export function enqueueOneByOne(bench: Bench, jobs: number): Promise<Phase> {
  const of = { name: 'one-by-one', title: 'enqueue, one by one', jobs } as const
  return timed(of, () => enqueueSingly(bench, jobs, 1))
}

const CALLERS = 50

export function enqueueByCallers(bench: Bench, jobs: number): Promise<Phase> {
  const of = { name: 'callers', title: `enqueue, ${CALLERS} callers at once`, jobs } as const
  return timed(of, () => enqueueSingly(bench, jobs, CALLERS))
}

export function enqueueInBulk(bench: Bench, jobs: number): Promise<Phase> {
  const of = { name: 'bulk', title: 'enqueue, in bulk', jobs } as const
  return timed(of, () => bench.mill.enqueueMany(NOOP, inputs(jobs, bench.signal)))
}

async function timed(
  of: Pick<Phase, 'name' | 'title' | 'jobs'>,
  work: () => Promise<unknown>,
): Promise<Phase> {
  const stopwatch = startStopwatch()
  await work()
  return { ...of, ...stopwatch.stop() }
}

async function enqueueSingly(
  { mill, signal }: Bench,
  jobs: number,
  callers: number,
): Promise<void> {
  const waiting = inputs(jobs, signal)
  // All callers take from one source, so that none is left waiting for another at the end.
  async function call(): Promise<void> {
    for (const input of waiting) await mill.enqueue(NOOP, input)
  }
  await Promise.all(Array.from({ length: callers }, call))
}

function* inputs(jobs: number, signal: AbortSignal): Generator<NoopInput, void> {
  for (let number = 0; number < jobs; number += 1) {
    signal.throwIfAborted()
    yield { number }
  }
}
