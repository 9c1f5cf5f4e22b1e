import type { Executor } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { fireLoop } from '../schedules/fire-loop.ts'
import { housekeeper } from './housekeeping.ts'
import type { WorkerSetup } from './options.ts'
import type { WorkerContext } from './working.ts'

/** What must be done by somebody, and is done by any worker: housekeeping, and firing schedules. */
export interface Upkeep {
  run(): Promise<void>
  stop(): void
}

export interface UpkeepOptions {
  readonly executor: Executor
  readonly wakeups: Wakeups
  readonly setup: WorkerSetup
  readonly context: Pick<WorkerContext, 'hintUntil' | 'writeAsk' | 'sequenceStreams'>
  readonly warn: (message: string) => (error: unknown) => void
}

const HOUSEKEEP_EVERY = 60_000

export function upkeep({ executor, wakeups, setup, context, warn }: UpkeepOptions): Upkeep {
  const { clock, events } = executor
  const lane = executor.lane('maintenance')
  const keeping = housekeeper({
    clock,
    lane,
    events,
    everyMs: HOUSEKEEP_EVERY,
    sequenceStreams: context.sequenceStreams,
    onFailure: warn('maintenance failed'),
  })
  const firing = fireLoop({
    executor,
    lane,
    wakeups,
    hintUntil: context.hintUntil,
    kinds: new Map([...setup.kinds].map(([name, { kind }]) => [name, kind])),
    write: context.writeAsk,
    onRefused: warn('a merge function failed; the fired job is one of its own'),
    onFailure: warn('a schedule could not be fired'),
  })

  return {
    async run() {
      await Promise.all([keeping.run(), firing.run()])
    },
    stop() {
      keeping.stop()
      firing.stop()
    },
  }
}
