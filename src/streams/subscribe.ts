import { batchSize } from './batch-size.ts'
import { readEvent } from './event.ts'
import type { StreamEvent } from './event.ts'
import { openIntake, readOrSkip } from './intake.ts'
import type { Intake, IntakeOptions, IntakeParts } from './intake.ts'
import type { StoredEvent } from './read-statements.ts'

/**
 * Events one by one, in the order of their offsets. Asking for the next event acknowledges the last;
 * leaving the loop, by `break` or by a throw, does not. What comes next is read ahead while the loop
 * is at work, up to two batches, and not more until they are taken (back-pressure).
 *
 * Nothing is read, and the consumer's name not taken, before the first event is asked for.
 */
export interface Subscription<Data> extends AsyncIterable<StreamEvent<Data>>, AsyncDisposable {
  /** Saves what was acknowledged and lets a stand-by take over at once. The loop ends. */
  close(): Promise<void>
}

export interface SubscriptionSetup extends IntakeOptions {
  readonly signal: AbortSignal | undefined
}

const BATCH = 1_000

export function subscription(
  setup: SubscriptionSetup,
  parts: IntakeParts,
  onClosed: () => void,
): Subscription<unknown> {
  return new OpenSubscription(setup, parts, onClosed)
}

type Step = IteratorResult<StreamEvent, undefined>

class OpenSubscription implements Subscription<unknown>, AsyncIterator<StreamEvent, undefined> {
  readonly #setup: SubscriptionSetup
  readonly #parts: IntakeParts
  readonly #onClosed: () => void
  readonly #stop = new AbortController()
  readonly #size = batchSize(BATCH)
  #opening: Promise<Intake | null> | undefined
  #buffer: StoredEvent[] = []
  #at = 0
  #filling: Promise<void> | undefined
  /** The event in the loop's hands. */
  #inHand: number | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #stepping = 0
  #intake: Intake | undefined
  /** The schema answered at once so far. */
  #isImmediate = true
  #closing: Promise<void> | undefined
  readonly #unhear: () => void

  constructor(setup: SubscriptionSetup, parts: IntakeParts, onClosed: () => void) {
    this.#setup = setup
    this.#parts = parts
    this.#onClosed = onClosed
    const stop = (): void => this.#stop.abort()
    setup.signal?.addEventListener('abort', stop)
    if (setup.signal?.aborted === true) stop()
    this.#unhear = () => setup.signal?.removeEventListener('abort', stop)
  }

  /** The same one each time: there is one place in the stream. */
  [Symbol.asyncIterator](): AsyncIterator<StreamEvent, undefined> {
    return this
  }

  /** Calls made together are answered one after another. */
  next(): Promise<Step> {
    const ready = this.#stepping === 0 ? this.#ready() : undefined
    if (ready !== undefined) return Promise.resolve({ done: false, value: ready })
    this.#stepping += 1
    const step = this.#turn
      .then(() => this.#step())
      .finally(() => {
        this.#stepping -= 1
      })
    this.#turn = step.catch(() => undefined)
    return step
  }

  async return(): Promise<Step> {
    await this.close()
    return DONE
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #step(): Promise<Step> {
    if (this.#closing !== undefined) return DONE
    try {
      const event = await this.#advance()
      if (event !== undefined) return { done: false, value: event }
    } catch (error) {
      // The loop does not say that it ends when asking rejects.
      await this.close()
      throw error
    }
    await this.close()
    return DONE
  }

  /**
   * The next event where it was read already and there is nothing to wait for: half of what an event
   * costs here is promises. Undefined for whatever is out of the ordinary.
   */
  #ready(): StreamEvent | undefined {
    const intake = this.#intake
    const stored = this.#buffer[this.#at]
    if (intake === undefined || stored === undefined || !this.#isImmediate) return undefined
    if (this.#stop.signal.aborted || intake.held.isLapsed) return undefined
    const event = readAtOnce(this.#setup.stream, stored)
    if (event === undefined) {
      this.#isImmediate = false
      return undefined
    }
    if (this.#inHand !== undefined) intake.held.acknowledge(this.#inHand)
    this.#inHand = event.offset
    this.#passOn(intake)
    return event
  }

  async #advance(): Promise<StreamEvent | undefined> {
    const intake = await (this.#opening ??= openIntake(this.#setup, this.#parts, this.#stop.signal))
    if (intake === null) return undefined
    this.#intake = intake
    if (this.#inHand !== undefined) intake.held.acknowledge(this.#inHand)
    this.#inHand = undefined
    for (;;) {
      const stored = await this.#take(intake)
      if (stored === undefined) return undefined
      const event = await readOrSkip(this.#setup, stored)
      if (this.#stop.signal.aborted) return undefined
      if (event !== null) {
        this.#inHand = event.offset
        return event
      }
      intake.held.acknowledge(stored.event_offset)
    }
  }

  /** The next one that was read; waits until there is one. */
  async #take(intake: Intake): Promise<StoredEvent | undefined> {
    while (this.#at === this.#buffer.length) {
      // Known by its promise, so that a close waits for what it has under way.
      this.#filling ??= this.#fill(intake)
      await this.#filling
      intake.held.lost.throwIfAborted()
      if (this.#stop.signal.aborted) return undefined
    }
    // After a stop of the process somebody else may be at work on it.
    if (intake.held.isLapsed) await intake.held.confirm()
    const stored = this.#buffer[this.#at]
    this.#passOn(intake)
    return stored
  }

  #passOn(intake: Intake): void {
    this.#at += 1
    const left = this.#buffer.length - this.#at
    if (left < this.#size.next) this.#fillAhead(intake)
  }

  #fillAhead(intake: Intake): void {
    if (this.#filling !== undefined || this.#stop.signal.aborted) return
    const filling = this.#fill(intake)
    // Told when it is waited for.
    filling.catch(() => undefined)
    this.#filling = filling
  }

  async #fill(intake: Intake): Promise<void> {
    const events = await intake.next(this.#size.next)
    this.#size.read(events)
    this.#buffer = [...this.#buffer.slice(this.#at), ...events]
    this.#at = 0
    this.#filling = undefined
  }

  async #close(): Promise<void> {
    this.#unhear()
    this.#stop.abort()
    const intake = await this.#opening?.catch(() => null)
    await this.#filling?.catch(() => undefined)
    await intake?.close()
    this.#onClosed()
  }
}

/** Undefined where the schema takes its time, or refuses. */
function readAtOnce(
  stream: SubscriptionSetup['stream'],
  stored: StoredEvent,
): StreamEvent | undefined {
  try {
    const event = readEvent(stream, stored)
    if (!(event instanceof Promise)) return event
    // It is asked again, and waited for there.
    event.catch(() => undefined)
  } catch {
    // So is one that refuses.
  }
  return undefined
}

const DONE: Step = { done: true, value: undefined }
