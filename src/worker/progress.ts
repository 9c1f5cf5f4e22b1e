import type { Clock } from '../core/clock.ts'
import type { Lane } from '../database/executor.ts'
import type { Progress } from '../jobs/job.ts'
import { saveProgress } from './lease-statements.ts'

/**
 * What runs say of their progress, written for people to see: the latest of each run, all together,
 * at most once a second. A word that is lost with the process is worth nothing afterwards.
 */
export interface ProgressWriter {
  say(run: { readonly id: string; readonly run: number }, progress: Progress): void
  stop(): void
}

export interface ProgressOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly onFailure: (error: unknown) => void
}

const EVERY = 1_000

export function progressWriter({
  worker,
  clock,
  lane,
  onFailure,
}: ProgressOptions): ProgressWriter {
  const latest = new Map<string, object>()
  let cancel: (() => void) | undefined
  let stopped = false

  async function write(): Promise<void> {
    cancel = undefined
    const rows = JSON.stringify([...latest.values()])
    latest.clear()
    try {
      await lane.run(saveProgress, { runs: rows, worker })
    } catch (error) {
      onFailure(error)
    }
  }

  return {
    say({ id, run }, { done, total }) {
      if (stopped) return
      latest.set(`${id} ${run}`, { id, run, done, ...(total === null ? {} : { total }) })
      cancel ??= clock.after(EVERY, () => void write())
    },
    stop() {
      stopped = true
      cancel?.()
      latest.clear()
    },
  }
}
