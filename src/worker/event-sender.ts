import type { JobEventName, JobEvents, ToldJob } from '../core/job-events.ts'
import { batcher } from '../database/batcher.ts'
import type { Lane } from '../database/executor.ts'
import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { encodeEvent } from '../jobs/event-text.ts'

/**
 * Tells other processes what becomes of jobs, where that was asked for (`open({ events: true })`):
 * as notifications on the namespace's channel, many events in one, sent after the commits they tell
 * of. A process that dies in between tells nothing; nobody may decide by them.
 */
export interface EventSender {
  /** Sends what was told so far, and hears no more. Never rejects. */
  close(): Promise<void>
}

export interface EventSenderOptions {
  readonly clock: { now(): number }
  readonly events: JobEvents
  readonly lane: () => Lane
}

export const notifyEvents: Statement<{ messages: string }, { sent: number }> = statement(
  'notify_events',
  `
select count(pg_notify('{{channel}}', 'events ' || m.message))::int4 as sent
from json_array_elements_text($messages::text::json) m (message)`,
)

// A notification holds 8 000 bytes, with the word before it.
const MOST_BYTES = 7_900
// While one statement is under way the next gathers; beyond this the database is away, or too slow.
const MOST_WAITING = 100_000

export function eventSender(options: EventSenderOptions): EventSender {
  const { clock, events, lane } = options
  const sending = batcher<string, null>({ flush: send, bytes: (text) => text.length })

  const unhear = events.hear((event: JobEventName, job: ToldJob) => {
    if (sending.size >= MOST_WAITING) return
    // What could not be sent is lost, as it is where nobody listens.
    sending.add(encodeEvent(event, job, clock.now())).catch(() => undefined)
  })

  async function send(texts: readonly string[]): Promise<readonly null[]> {
    await lane().run(notifyEvents, { messages: JSON.stringify(packed(texts)) })
    return texts.map(() => null)
  }

  return {
    async close() {
      unhear()
      await sending.idle()
    },
  }
}

/** JSON arrays of as many events as fit a notification. */
function packed(texts: readonly string[]): readonly string[] {
  const messages: string[] = []
  let message = ''
  for (const text of texts) {
    const longer = message === '' ? text : `${message},${text}`
    if (message !== '' && Buffer.byteLength(longer) > MOST_BYTES) {
      messages.push(`[${message}]`)
      message = text
    } else message = longer
  }
  if (message !== '') messages.push(`[${message}]`)
  return messages
}
