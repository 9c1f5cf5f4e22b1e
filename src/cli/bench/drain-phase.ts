import type { WorkerOptions } from '../../index.ts'
import type { Bench } from './enqueue-phases.ts'
import type { Phase } from './figures.ts'
import { NOOP } from './noop.ts'
import { startStopwatch } from './stopwatch.ts'
import type { Stopwatch } from './stopwatch.ts'

/**
 * Jobs wait before a worker starts. Measured from the begin of the first handler until the last job is
 * recorded: what the worker still had to write when the last handler returned counts as well.
 */
export async function drain(
  bench: Bench,
  of: Pick<Phase, 'name' | 'title' | 'jobs'>,
  options: WorkerOptions = {},
): Promise<Phase> {
  bench.signal.throwIfAborted()
  const worker = bench.mill.worker(options)
  let begun: Stopwatch | undefined
  let left = of.jobs
  const drained = new Promise<void>((resolve) => {
    bench.signal.addEventListener('abort', () => resolve(), { once: true })
    worker.handle(NOOP, () => {
      begun ??= startStopwatch()
      left -= 1
      if (left === 0) resolve()
    })
  })
  await worker.start()
  await drained
  await worker.stop()
  bench.signal.throwIfAborted()
  return { ...of, ...(begun ?? startStopwatch()).stop() }
}
