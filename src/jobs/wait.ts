import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { isId } from '../core/id.ts'
import { checkOptions } from '../core/names.ts'
import { InvalidOptionError, UnknownJobError, WaitTimeoutError } from '../errors.ts'
import type { EndWatch } from './end-watch.ts'
import type { FinishedJob, JobRecord } from './job.ts'

export interface WaitOptions {
  /** How long to wait; default without end. Then `WaitTimeoutError`. */
  timeout?: Duration | undefined
  /** Ends the waiting with its reason; the job goes on. */
  signal?: AbortSignal | undefined
}

export interface WaitContext {
  readonly clock: Clock
  readonly watch: EndWatch
  /** The job's record, of the kind that was asked for. */
  readonly get: (id: string) => Promise<JobRecord | null>
}

/** The record of a job once it has ended; at once if it has. */
export async function waitForEnd(
  id: unknown,
  options: WaitOptions,
  { clock, watch, get }: WaitContext,
): Promise<FinishedJob> {
  checkOptions('wait()', options, ['timeout', 'signal'])
  if (!isId(id)) throw new InvalidOptionError('id', id, 'pass the id that enqueue() answered')
  const timeoutMs = options.timeout === undefined ? null : milliseconds('timeout', options.timeout)
  const over = new AbortController()
  const stop = timeoutMs === null ? undefined : clock.after(timeoutMs, () => over.abort())
  const { signal } = options
  const either = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
  try {
    for (;;) {
      signal?.throwIfAborted()
      const job = await get(id)
      if (job === null) throw new UnknownJobError(id)
      if (hasEnded(job)) return job
      if (over.signal.aborted) throw new WaitTimeoutError(id, timeoutMs ?? 0)
      await watch.ended(id, either)
    }
  } finally {
    stop?.()
  }
}

function hasEnded(job: JobRecord): job is FinishedJob {
  return job.state !== 'pending' && job.state !== 'running'
}
