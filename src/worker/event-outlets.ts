import { wait } from '../core/wait.ts'
import { eventSender } from './event-sender.ts'
import type { EventSenderOptions } from './event-sender.ts'
import { rollups } from './rollups.ts'
import type { RollupsOptions } from './rollups.ts'

/** Where the events of one client go, beside its own process: into the counts, and to others if that was asked for. */
export interface EventOutlets {
  close(): Promise<void>
}

// A database that is away does not hold up the end of a client: counts and news are not worth it.
const CLOSE_WITHIN = 1_000

export interface EventOutletsOptions extends RollupsOptions, EventSenderOptions {
  readonly clock: RollupsOptions['clock']
  readonly shareEvents: boolean
}

export function eventOutlets(options: EventOutletsOptions): EventOutlets {
  const counts = rollups(options)
  const sender = options.shareEvents ? eventSender(options) : undefined
  return {
    async close() {
      const patience = new AbortController()
      const told = Promise.all([sender?.close(), counts.close()])
      await Promise.race([told, wait(options.clock, CLOSE_WITHIN, patience.signal)])
      patience.abort()
    },
  }
}
