import type { EventProducer, StreamDefinition } from '../core/event-producer.ts'
import { notice } from '../core/telemetry.ts'
import type { Executor } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { ClosedError, InvalidOptionError } from '../errors.ts'
import { bells } from './bells.ts'
import { consumeEvents } from './consume.ts'
import type { Consume, ConsumeTransactions } from './consume.ts'
import type { IntakeParts } from './intake.ts'
import { consumeSetup, subscribeSetup } from './options.ts'
import type { ConsumeOptions, SubscribeOptions } from './options.ts'
import { publisher } from './publish.ts'
import type { Inside } from './publish.ts'
import { sequencers } from './sequence.ts'
import { streamsOf } from './streams.ts'
import type { Streams } from './streams.ts'
import { subscription } from './subscribe.ts'
import type { Subscription } from './subscribe.ts'

/** Everything of streams that one client has: made once, closed with it. */
export interface StreamService {
  readonly streams: Streams
  readonly own: EventProducer
  /** The producer's verbs on the caller's transaction. */
  on(inside: Inside): EventProducer
  subscribe(stream: StreamDefinition, options: SubscribeOptions): Subscription<unknown>
  consume(
    stream: StreamDefinition,
    options: ConsumeOptions & { readonly transaction?: unknown },
    fn: unknown,
  ): Promise<void>
  /** Gives offsets in every stream where something waits: for streams that nobody reads. */
  sequenceAll(isStopped?: () => boolean): Promise<void>
  /** Ends what reads: a batch under way is finished first. */
  close(): Promise<void>
}

export interface StreamServiceOptions {
  readonly executor: Executor
  readonly wakeups: () => Wakeups
  readonly maxPayload: number
  /** Whether hints are sent. */
  readonly isAnnounced: boolean
  /** host:pid:random. */
  readonly newHolder: () => string
  /** Where a batch's transaction comes from: a connection of ours, or what the caller passed. */
  readonly transactions: {
    of(source: unknown): ConsumeTransactions
    close(): Promise<void>
  }
}

export function streamService(options: StreamServiceOptions): StreamService {
  const { executor, isAnnounced, newHolder, maxPayload } = options
  const closed = new AbortController()
  const open = new Set<{ close(): Promise<void> }>()
  const consuming = new Set<Promise<void>>()
  const rung = bells(executor.clock, options.wakeups)
  const sequencing = sequencers({
    clock: executor.clock,
    lane: () => executor.lane('sequence'),
    lookLane: () => executor.lane('maintenance'),
    isAnnounced,
  })
  const publishing = publisher({ executor, maxPayload, isAnnounced })
  const shared = { executor, sequencers: sequencing, bells: rung }
  const intake: IntakeParts = { ...shared, isAnnounced, newHolder, onFailure }

  function onFailure(stream: string, error: unknown): void {
    const facts = { stream, error: error instanceof Error ? error.message : String(error) }
    const message = 'events could not be read or saved; it is tried again'
    notice({ origin: executor.origin, level: 'warn', message, facts })
  }

  async function consume(
    ...[stream, given, fn]: Parameters<StreamService['consume']>
  ): Promise<void> {
    const setup = consumeSetup(stream, given)
    if (!isConsume(fn)) throw new InvalidOptionError('fn', fn, 'pass a function of (events, tx).')
    if (closed.signal.aborted) throw new ClosedError()
    const { signal } = setup
    const either = signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal])
    const transactions = options.transactions.of(given.transaction)
    const work = consumeEvents({ ...setup, signal: either, transactions }, fn, intake)
    consuming.add(work)
    await work.finally(() => consuming.delete(work))
  }

  return {
    streams: streamsOf({ ...shared, closed: closed.signal }),
    own: publishing.own,
    on: publishing.on,
    subscribe(stream, given) {
      const setup = subscribeSetup(stream, given)
      if (closed.signal.aborted) throw new ClosedError()
      const made = subscription(setup, intake, () => open.delete(made))
      open.add(made)
      return made
    },
    consume,
    sequenceAll: sequencing.all,
    async close() {
      closed.abort()
      await Promise.all([...open].map((each) => each.close()))
      await Promise.allSettled(consuming)
      await publishing.idle()
      await options.transactions.close()
    },
  }
}

function isConsume(fn: unknown): fn is Consume {
  return typeof fn === 'function'
}
