import { byteLength } from '../core/text.ts'
import type { Runner } from '../database/executor.ts'
import type { Namespace } from '../database/namespace.ts'
import { InvalidOptionError, PayloadTooLargeError } from '../errors.ts'
import { channelName } from './channel-name.ts'
import { notifyChannel } from './channel-statements.ts'

/** Says something on a channel; everything is checked before anything is sent. */
export type Notify = (channel: string, payload?: string) => Promise<void>

/** `send` runs the statement: on the client's own connection, or on the caller's transaction. */
export function notifier(
  place: Namespace,
  send: (work: (runner: Runner) => Promise<unknown>) => Promise<unknown>,
): Notify {
  return async (channel, payload = '') => {
    const params = { channel: channelName(place, channel), payload: checkPayload(payload) }
    await send((runner) => runner.run(notifyChannel, params))
  }
}

/** What PostgreSQL carries with a notification, in bytes of UTF-8. */
export const LARGEST_PAYLOAD = 7_999

function checkPayload(payload: unknown): string {
  if (typeof payload !== 'string') {
    throw new InvalidOptionError('payload', payload, 'it is text. Pass JSON.stringify(…) of it.')
  }
  if (payload.includes('\0') || !payload.isWellFormed()) {
    throw new InvalidOptionError(
      'payload',
      // Not the text itself: errors are logged, what is sent to others is not.
      `(text of ${payload.length} characters)`,
      'it holds U+0000 or half of a surrogate pair, which PostgreSQL refuses. Pass JSON.stringify(…) of it, which escapes both.',
    )
  }
  const bytes = byteLength(payload)
  if (bytes > LARGEST_PAYLOAD)
    throw new PayloadTooLargeError('the payload of a notification', bytes, LARGEST_PAYLOAD)
  return payload
}
