import { jobChannel } from '../../src/core/job-events.ts'
import type { JobEvent } from '../../src/core/job-events.ts'

/** What one client told of jobs, in order. */
export interface WatchedEvents extends Disposable {
  readonly all: readonly JobEvent[]
  /** The events of one job, by name. */
  of(id: string): readonly string[]
}

export function watchJobEvents(schema: string): WatchedEvents {
  const all: JobEvent[] = []
  const listener = (message: unknown): void => {
    if (isEventOf(message, schema)) all.push(message)
  }
  jobChannel.subscribe(listener)
  return {
    all,
    of: (id) => all.filter((each) => each.id === id).map(({ event }) => event),
    [Symbol.dispose]() {
      jobChannel.unsubscribe(listener)
    },
  }
}

function isEventOf(message: unknown, schema: string): message is JobEvent {
  if (typeof message !== 'object' || message === null || !('origin' in message)) return false
  const { origin } = message
  return typeof origin === 'object' && origin !== null && Reflect.get(origin, 'schema') === schema
}
