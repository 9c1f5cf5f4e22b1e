import { checkOptions } from '../core/names.ts'
import type { Executor } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { ClosedError, InvalidOptionError } from '../errors.ts'
import { channelName } from './channel-name.ts'
import { listener } from './listener.ts'
import type { Listener } from './listener.ts'
import { notifier } from './notify.ts'
import type { Notify } from './notify.ts'

/**
 * Channels (N1): text to whoever listens now, kept nowhere. They are PostgreSQL's notifications,
 * under names that no other namespace has; all listeners of a client share its one listening
 * connection.
 */
export interface Channels {
  readonly notify: Notify
  listen(channel: string, options?: ListenOptions): Listener
  close(): void
}

export interface ListenOptions {
  /** Ends the iteration, without an error. */
  signal?: AbortSignal | undefined
}

export interface ChannelsOptions {
  readonly executor: Executor
  readonly wake: 'listen' | 'poll'
  readonly wakeups: () => Wakeups
}

const WAIT_LIMIT = 10_000

export function channelsOf({ executor, wake, wakeups }: ChannelsOptions): Channels {
  const { clock, namespace } = executor
  const listeners = new Set<Listener>()
  let isClosed = false

  return {
    notify: notifier(namespace, (work) => {
      const end = clock.now() + WAIT_LIMIT
      return repeat({ clock, until: () => end }, () => work(executor.lane('enqueue')))
    }),
    listen(channel, options = {}) {
      checkOptions('listen()', options, ['signal'])
      const name = channelName(namespace, channel)
      if (isClosed) throw new ClosedError()
      if (wake === 'poll') throw new InvalidOptionError('wake', wake, NEEDS_LISTENING)
      const made = listener({
        hear: (ear) => wakeups().hear(name, ear),
        signal: options.signal,
        onClosed: () => listeners.delete(made),
      })
      listeners.add(made)
      if (options.signal?.aborted === true) void made.close()
      return made
    },
    close() {
      isClosed = true
      for (const each of listeners) void each.close()
    },
  }
}

const NEEDS_LISTENING =
  "mill.listen() needs a listening connection, which this client was opened without. Open one with wake: 'listen', to the server itself and not to a pooler."
