import type { Clock } from '../core/clock.ts'
import { checkOptions } from '../core/names.ts'
import { bell } from '../core/wait.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { decodeEvents } from './event-text.ts'
import type { SentEvent } from './event-text.ts'

/**
 * What becomes of jobs in the processes that were asked to tell (`open({ events: true })`), this one
 * among them. `resync`: listening began, or was interrupted, or the reader fell 10 000 events behind;
 * what happened before it may be missing.
 */
export type JobNews = SentEvent | { readonly event: 'resync' }

export interface EventsOptions {
  /** Ends the iteration, without an error. */
  signal?: AbortSignal | undefined
}

export interface EventsContext {
  readonly clock: Clock
  readonly wakeups: () => Pick<Wakeups, 'subscribe' | 'isListening'>
  /** Aborts when the client closes. */
  readonly closing: AbortSignal
}

const MOST_UNREAD = 10_000
const LOOK_EVERY = 60_000
const RESYNC: JobNews = { event: 'resync' }

/** Listens from the first step of the iteration to its end. */
export async function* eventNews(
  options: EventsOptions,
  { clock, wakeups, closing }: EventsContext,
): AsyncGenerator<JobNews, void> {
  checkOptions('events()', options, ['signal'])
  const signal = AbortSignal.any([
    closing,
    ...(options.signal === undefined ? [] : [options.signal]),
  ])
  const alarm = bell(clock)
  const source = wakeups()
  let unread: JobNews[] = source.isListening ? [RESYNC] : []
  const unsubscribe = source.subscribe((hint) => {
    if (hint.type === 'resync') unread.push(RESYNC)
    if (hint.type === 'events') unread.push(...decodeEvents(hint.text))
    if (unread.length > MOST_UNREAD) unread = [RESYNC]
    alarm.ring()
  })
  signal.addEventListener('abort', alarm.ring, { once: true })
  try {
    while (!signal.aborted) {
      const read = unread
      unread = []
      yield* read
      if (unread.length === 0 && !signal.aborted) await alarm.wait(LOOK_EVERY)
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', alarm.ring)
  }
}
