import { checkName } from '../core/names.ts'
import type { Runner } from '../database/executor.ts'
import { encodeDefaults } from '../jobs/queue-defaults.ts'
import type { QueueDefaults } from '../jobs/queue-defaults.ts'
import type { QueueDecisions } from './decisions.ts'
import { listQueues, pauseQueue, resumeQueue, setQueueDefaults } from './statements.ts'

/** A queue as it stands. */
export interface QueueRecord {
  readonly queue: string
  readonly paused: boolean
  readonly pausedSince: Date | null
}

/** What people decide about queues. A queue exists when somebody names it; nothing has to be made. */
export interface Queues {
  /** The queues in which something waits, that a worker claims from, or about which something was decided. */
  list(): Promise<readonly QueueRecord[]>
  /**
   * Nothing more is claimed from it, by any worker, within a second; what runs goes on. Asks are
   * taken as before. A queue that is paused already stays so.
   *
   * @example
   * await mill.queues.pause('mail')
   */
  pause(queue: string): Promise<void>
  /** Ends a pause; workers claim from it again within a second. */
  resume(queue: string): Promise<void>
  /**
   * Options for jobs of this queue where neither the call nor the kind says any, in place of the
   * engine's defaults. Replaces what was set before; `{}` removes it. Jobs enqueued by this client
   * have it at once, those of others within a second (with a worker in the client) or five (without).
   * Throws `InvalidOptionError`.
   *
   * @example
   * await mill.queues.set('mail', { priority: 'low', retry: { failures: 3 } })
   */
  set(queue: string, defaults: QueueDefaults): Promise<void>
}

export interface QueuesOptions {
  readonly runner: () => Runner
  readonly decisions: QueueDecisions
  /** Whether other clients are told. */
  readonly announce: boolean
}

export function queuesOf({ runner, decisions, announce }: QueuesOptions): Queues {
  return {
    async list() {
      const rows = await runner().run(listQueues, {})
      return rows.map(({ queue, paused_at: since }) => ({
        queue,
        paused: since !== null,
        pausedSince: since === null ? null : new Date(since),
      }))
    },
    async pause(queue) {
      await runner().run(pauseQueue, { queue: checkName('queue', queue), announce })
      await decisions.reload(runner())
    },
    async resume(queue) {
      await runner().run(resumeQueue, { queue: checkName('queue', queue), announce })
      await decisions.reload(runner())
    },
    async set(queue, defaults) {
      const text = encodeDefaults(defaults)
      const name = checkName('queue', queue)
      await runner().run(setQueueDefaults, { queue: name, defaults: text, announce })
      await decisions.reload(runner())
    },
  }
}
