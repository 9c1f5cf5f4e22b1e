import type { JobEventName } from '../core/job-events.ts'
import type { Executor } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import type { JobKind } from '../jobs/kind.ts'
import { isOutboxKind } from '../outbox/outbox.ts'
import { turns } from '../outbox/turns.ts'
import { awaited } from './awaited.ts'
import { cancelWatch } from './cancels.ts'
import { reruns } from './reruns.ts'
import type { LiveRun, Roster } from './roster.ts'
import type { SettledRow } from './settle-statements.ts'

/** What others say of this worker's runs, and are told of them: cancels, and ends that somebody, or an ask, waits for. */
export interface News {
  /** Until `stop`. */
  run(): Promise<void>
  /** A run began. */
  began(run: RunOfKind): void
  /** A run was settled. */
  settled(run: LiveRun): void
  /** The same, as the database said it. */
  ended(rows: readonly SettledRow[]): void
  /** A run settled itself, and completed. */
  endedItself(run: RunOfKind): void
  /** Resolves when everything is told. */
  stop(): Promise<void>
}

type RunOfKind = LiveRun & { readonly kind: string; readonly queue: string }

export interface NewsOptions {
  readonly worker: string
  readonly executor: Executor
  readonly wakeups: Wakeups
  readonly roster: Roster
  /** What this worker handles. */
  readonly kinds: readonly JobKind[]
  readonly hintUntil: () => string
  readonly checkLeases: () => Promise<void>
  /** Messages of outboxes are due from now on. */
  readonly onGiven: () => void
  readonly warn: (message: string) => (error: unknown) => void
}

export function news(options: NewsOptions): News {
  const { executor, worker, wakeups, warn } = options
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
  const waiting = reruns({
    ...options,
    clock,
    lane: executor.lane('maintenance'),
    isListening: () => wakeups.isListening,
    onFailure: warn('asks that wait for a run could not be looked for'),
  })
  const outboxes = options.kinds.filter(isOutboxKind).map(({ name }) => name)
  const lines = turns({
    ...options,
    clock,
    lane: executor.lane('turns'),
    outboxes: new Set(outboxes),
    isListening: () => wakeups.isListening,
    onFailure: warn('messages could not be given their turn'),
  })
  const unsubscribe = wakeups.subscribe((hint) => {
    cancels.hear(hint)
    waits.hear(hint)
    waiting.hear(hint)
    lines.hear(hint)
  })
  function tell(event: JobEventName, { id, kind, queue, run }: RunOfKind): void {
    executor.events.tell(event, { id, kind, queue, run, worker })
  }

  return {
    async run() {
      await Promise.all([
        cancels.run(),
        waiting.run(),
        outboxes.length > 0 ? lines.run() : undefined,
      ])
    },
    began(run) {
      cancels.noticed(run)
      tell('started', run)
    },
    settled: (run) => waits.settled(run.id),
    ended(rows) {
      waiting.ended(rows)
      lines.ended(rows)
    },
    endedItself(run) {
      waiting.endedOf(run.kind)
      tell('completed', run)
    },
    stop() {
      unsubscribe()
      cancels.stop()
      waiting.stop()
      lines.stop()
      return waits.idle()
    },
  }
}
