import type { Clock } from '../core/clock.ts'
import { notice } from '../core/telemetry.ts'
import type { Origin } from '../core/telemetry.ts'
import { wait } from '../core/wait.ts'
import type { Engine, Listening } from './database.ts'
import { ears } from './ears.ts'
import type { Ear } from './ears.ts'
import { parseHint, type WakeHint } from './hint.ts'

/**
 * Hints that work may be due, from one LISTEN connection. They are only hints: whoever subscribes
 * polls as well, seldom while `isListening`, often while not. So a connection that is lost, or that
 * can never be had, is no error here: it is tried again, with backoff, for as long as this lives.
 *
 * A connection counts as listening only after a notification sent from another one has come
 * through: behind a pooler in transaction mode LISTEN succeeds and nothing ever arrives. From then
 * on it is pinged, since a socket that is half open says nothing at all.
 */
export interface Wakeups extends AsyncDisposable {
  /**
   * Calls `handler` for each hint, and with `resync` whenever listening begins, the first time
   * too, or ends: what is sent before it begins and after it ended goes unheard. The handler must not throw.
   * The function it answers ends that.
   */
  subscribe(handler: (hint: WakeHint) => void): () => void
  /** Hears another channel on the same connection, until the function it answers is called. */
  hear(channel: string, ear: Ear): () => void
  /** True while notifications are known to arrive. */
  readonly isListening: boolean
  /** Why nothing is heard at present, or undefined. */
  readonly problem: unknown
  /** Ends the connection, the timers and the subscriptions. */
  close(): Promise<void>
}

/** Whose wake-ups they are, and where time and chance come from. */
export interface WakeupsOptions {
  readonly origin: Origin
  readonly clock: Clock
  /** In [0, 1): spreads the reconnects of many processes after a restart of the server. */
  readonly random: () => number
}

/** Milliseconds between two pings of a listening connection. */
export const PING_EVERY = 30_000
const PING_WITHIN = 10_000
const PROOF_WITHIN = 5_000
const FIRST_BACKOFF = 500
const LONGEST_BACKOFF = 60_000
// Each try leaves a LISTEN behind on a connection that the pooler gives to others.
const LONGEST_UNHEARD = 600_000

/** Starts listening on `channel`, in the background. */
export function wakeups(engine: Engine, channel: string, options: WakeupsOptions): Wakeups {
  return new ListeningWakeups(engine, channel, options)
}

class ListeningWakeups implements Wakeups {
  readonly #engine: Engine
  readonly #channel: string
  readonly #options: WakeupsOptions
  readonly #handlers = new Set<(hint: WakeHint) => void>()
  readonly #ears = ears()
  readonly #loop: Promise<void>
  #stage = new AbortController()
  #isClosed = false
  #isListening = false
  #isWarned = false
  #problem: unknown

  constructor(engine: Engine, channel: string, options: WakeupsOptions) {
    this.#engine = engine
    this.#channel = channel
    this.#options = options
    this.#loop = this.#run()
  }

  subscribe(handler: (hint: WakeHint) => void): () => void {
    // Wrapped, so that a handler which subscribes twice has two subscriptions.
    const subscription = (hint: WakeHint) => handler(hint)
    this.#handlers.add(subscription)
    return () => this.#handlers.delete(subscription)
  }

  hear(channel: string, ear: Ear): () => void {
    return this.#ears.add(channel, ear)
  }

  get isListening(): boolean {
    return this.#isListening
  }

  get problem(): unknown {
    return this.#problem
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#handlers.clear()
    this.#ears.clear()
    this.#stage.abort()
    await this.#loop
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options
    let failures = 0
    while (!this.#isClosed) {
      this.#stage = new AbortController()
      const wasSound = await this.#listenOnce(this.#stage)
      failures = wasSound ? 1 : failures + 1
      if (this.#isClosed) return
      this.#stage = new AbortController()
      await wait(clock, backoff(failures, this.#longestBackoff()) * random(), this.#stage.signal)
    }
  }

  /** Listens until the connection is lost, and answers whether it outlived a ping: others may be flapping. */
  async #listenOnce(stage: AbortController): Promise<boolean> {
    let pings = 0
    try {
      const first = new AbortController()
      const listening = await this.#engine.listen(this.#channel, {
        onNotification: (payload) => {
          first.abort()
          this.#hear(payload)
        },
        onLost: (error) => stage.abort(error),
      })
      try {
        await this.#prove(first.signal, stage.signal)
        this.#begin(listening, stage)
        while (await this.#isStillThere(listening, stage.signal)) pings += 1
      } finally {
        this.#end()
        await listening.close()
      }
      this.#problem = stage.signal.reason
    } catch (error) {
      this.#problem = error
      if (error instanceof UnheardError) this.#warn(error)
    }
    this.#ears.end(this.#problem)
    return pings > 0
  }

  // Anything that arrives is a proof: this connection never notifies.
  async #prove(first: AbortSignal, stage: AbortSignal): Promise<void> {
    if (this.#engine.isSingleConnection) return
    const options = { purpose: 'wake-up proof', timeoutMs: PROOF_WITHIN, prepare: false }
    const session = await this.#engine.connect(options)
    try {
      await session.query({ ...NOTIFY, values: [this.#channel, 'proof'] })
    } finally {
      await session.close()
    }
    await wait(this.#options.clock, PROOF_WITHIN, AbortSignal.any([first, stage]))
    if (first.aborted) return
    throw stage.aborted ? stage.reason : new UnheardError()
  }

  // Once, until something is heard after all: there is nothing new in the next try's failure.
  #warn({ message }: UnheardError): void {
    if (this.#isWarned || this.#isClosed) return
    this.#isWarned = true
    notice({ origin: this.#options.origin, level: 'warn', message, facts: {} })
  }

  #longestBackoff(): number {
    return this.#problem instanceof UnheardError ? LONGEST_UNHEARD : LONGEST_BACKOFF
  }

  #begin(listening: Listening, stage: AbortController): void {
    if (this.#isClosed) return
    this.#isListening = true
    this.#isWarned = false
    this.#problem = undefined
    this.#ears.begin(listening, (error) => stage.abort(error))
    this.#deliver({ type: 'resync' })
  }

  // Told at once: whoever sleeps as long as a listener allows must poll from now on.
  #end(): void {
    const wasListening = this.#isListening
    this.#isListening = false
    if (wasListening && !this.#isClosed) this.#deliver({ type: 'resync' })
  }

  async #isStillThere(listening: Listening, stage: AbortSignal): Promise<boolean> {
    await wait(this.#options.clock, PING_EVERY, stage)
    if (stage.aborted) return false
    await listening.ping(PING_WITHIN)
    return !stage.aborted
  }

  #hear(payload: string): void {
    const hint = parseHint(payload)
    if (hint !== undefined) this.#deliver(hint)
  }

  #deliver(hint: WakeHint): void {
    for (const handler of this.#handlers) handler(hint)
  }
}

const NOTIFY = {
  name: 'prove_listening',
  text: 'select count(pg_notify($1::text, $2::text))::int4 as sent',
}

/** A pooler in transaction mode: to try again will hardly help. */
export class UnheardError extends Error {
  constructor() {
    super(UNHEARD)
  }
}

const UNHEARD =
  "LISTEN succeeds here but nothing arrives, as behind a pooler in transaction mode. Jobs are found by polling; for wake-ups connect to the server itself, or say wake: 'poll' to do without."

/** Exponential, in milliseconds; full jitter is put to it. */
function backoff(failures: number, longest: number): number {
  return Math.min(longest, FIRST_BACKOFF * 2 ** (failures - 1))
}
