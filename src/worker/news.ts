import type { Executor } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { awaited } from './awaited.ts'
import { cancelWatch } from './cancels.ts'
import type { LiveRun, Roster } from './roster.ts'

/** What others say of this worker's runs, and are told of them: cancels, and ends that somebody waits for. */
export interface News {
  /** Until `stop`. */
  run(): Promise<void>
  /** A run began. */
  began(run: LiveRun): void
  /** A run was settled. */
  settled(run: LiveRun): void
  /** Resolves when everything is told. */
  stop(): Promise<void>
}

export interface NewsOptions {
  readonly worker: string
  readonly executor: Executor
  readonly wakeups: Wakeups
  readonly roster: Roster
  readonly checkLeases: () => Promise<void>
  readonly warn: (message: string) => (error: unknown) => void
}

export function news(options: NewsOptions): News {
  const { executor, wakeups, warn } = options
  const { clock } = executor
  const cancels = cancelWatch({
    ...options,
    clock,
    lane: executor.lane('renew'),
    isListening: () => wakeups.isListening,
    onFailure: warn('cancels could not be looked for'),
  })
  const waits = awaited({
    clock,
    lane: () => executor.lane('announce'),
    onFailure: warn('the end of a job could not be announced'),
  })
  const unsubscribe = wakeups.subscribe((hint) => {
    cancels.hear(hint)
    waits.hear(hint)
  })
  return {
    run: cancels.run,
    began: cancels.noticed,
    settled: (run) => waits.settled(run.id),
    stop() {
      unsubscribe()
      cancels.stop()
      return waits.idle()
    },
  }
}
