import type { Clock } from '../core/clock.ts'
import { instantText } from '../core/instant-text.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import type { WorkerSetup } from './options.ts'
import { forgetWorker, tellWorker } from './presence-statements.ts'
import type { Slots } from './slots.ts'

/**
 * A worker tells of itself: at its start, then seldom, and takes its row away when it stops. For
 * people, and for whoever explains why a job waits; never for ownership, so that a row too many or
 * too few does no harm. One that went away without a word stays a day, as its last sign.
 */
export interface Presence {
  run(): Promise<void>
  /** Ends the telling and removes the row; what `run` answered resolves then. */
  stop(): void
}

export interface PresenceOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly setup: WorkerSetup
  readonly slots: Slots
  readonly onFailure: (error: unknown) => void
}

/** A worker not seen for twice as long is taken for gone. */
export const TELL_EVERY = 60_000
const FORGET_AFTER = 86_400_000

export function presence(options: PresenceOptions): Presence {
  const { worker, clock, lane, setup, slots } = options
  const alarm = bell(clock)
  const startedAt = instantText(clock.now())
  let stopped = false

  async function run(): Promise<void> {
    while (!stopped) {
      await tell().catch(options.onFailure)
      await alarm.wait(TELL_EVERY)
    }
    await lane.run(forgetWorker, { worker }).catch(options.onFailure)
  }

  function tell(): Promise<unknown> {
    return lane.run(tellWorker, {
      worker,
      started_at: startedAt,
      concurrency: setup.concurrency,
      busy: slots.busy,
      queues: JSON.stringify(capsByName(setup.queues, (queue) => setup.queueCaps.get(queue))),
      kinds: JSON.stringify(
        capsByName(setup.kinds.keys(), (kind) => setup.kinds.get(kind)?.concurrency),
      ),
      gone_before: instantText(clock.now() - FORGET_AFTER),
    })
  }

  return {
    run,
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

function capsByName(
  names: Iterable<string>,
  capOf: (name: string) => number | null | undefined,
): Readonly<Record<string, number | null>> {
  return Object.fromEntries([...names].map((name) => [name, capOf(name) ?? null]))
}
