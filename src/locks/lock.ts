import type { Clock } from '../core/clock.ts'
import { dateFrom } from '../core/instant-text.ts'
import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { repeat } from '../database/repeat.ts'
import { LockLostError } from './lock-errors.ts'
import type { KeptLock, LockKeeper } from './keeper.ts'

/**
 * A lock that is held, until it is released or lost. No lock over a network can stop its holder from
 * going on after its end (the process may be stopped for as long as it likes): pass `signal` to what
 * the lock guards, and have what is written behind it refuse a `token` older than the last it saw.
 *
 * @example
 * await using lock = await mill.tryLock('nightly report', { ttl: '30s' })
 * if (lock !== null) await writeReport({ token: lock.token, signal: lock.signal })
 */
export interface Lock extends AsyncDisposable {
  readonly name: string
  /**
   * Greater than that of every holder before, for as long as the name is used: a whole number of
   * microseconds, far below 2^53.
   */
  readonly token: number
  /** Aborts with `LockLostError` when the lock is lost, or when its client is closed; not when it is released. */
  readonly signal: AbortSignal
  /** When it ends unless it is renewed, by the database's clock. */
  readonly expiresAt: Date
  /**
   * Renews it now, by its own `ttl` or by another one, which holds from then on; never to an earlier
   * end. Answers whether it was still held: one that has ended is lost, though nobody took it. Throws
   * `InvalidOptionError`, and `DatabaseError` when the database stays away until its end.
   */
  renew(ttl?: Duration): Promise<boolean>
  /**
   * Gives it up, and wakes who waits for it. Answers whether it was still held. Throws `DatabaseError`
   * when the database stays away until its end; leaving the block of an `await using` does not: then
   * the lock ends by itself.
   */
  release(): Promise<boolean>
}

/** What an acquisition gave. */
export interface Acquired {
  readonly name: string
  readonly holder: string
  readonly token: number
  readonly expiresAt: number
  readonly ttlMs: number
  readonly renews: boolean
}

export interface LockContext {
  readonly clock: Clock
  readonly keeper: LockKeeper
  /** Releases locks in the database; answers whose holders still had them. */
  readonly release: (locks: readonly KeptLock[]) => Promise<ReadonlySet<string>>
  /** It is released, or lost. */
  readonly onOver: (lock: HeldLock, isLost: boolean) => void
}

/** A lock as its client has it. */
export interface HeldLock extends Lock, KeptLock {
  /** Its client is closed, and releases it itself. */
  abandon(cause: unknown): void
}

export function heldLock(acquired: Acquired, context: LockContext): HeldLock {
  const lock = new OwnLock(acquired, context)
  context.keeper.add(lock)
  return lock
}

class OwnLock implements HeldLock {
  readonly name: string
  readonly holder: string
  readonly token: number
  readonly renews: boolean
  ttlMs: number
  renewAt: number
  endsAt: number
  readonly #context: LockContext
  readonly #lost = new AbortController()
  #isOver = false
  #releasing: Promise<boolean> | undefined

  constructor(acquired: Acquired, context: LockContext) {
    this.name = acquired.name
    this.holder = acquired.holder
    this.token = acquired.token
    this.renews = acquired.renews
    this.ttlMs = acquired.ttlMs
    this.endsAt = acquired.expiresAt
    this.renewAt = acquired.expiresAt - (acquired.ttlMs * 2) / 3
    this.#context = context
  }

  get signal(): AbortSignal {
    return this.#lost.signal
  }

  get expiresAt(): Date {
    return dateFrom(this.endsAt)
  }

  async renew(ttl?: Duration): Promise<boolean> {
    const ttlMs = ttl === undefined ? this.ttlMs : milliseconds('ttl', ttl)
    if (this.#isOver) return false
    this.ttlMs = ttlMs
    const { clock, keeper } = this.#context
    return repeat({ clock, until: () => this.endsAt }, () => keeper.renew(this, ttlMs))
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release()
    return this.#releasing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => false)
  }

  lose(cause?: unknown): void {
    this.#end(true, cause === undefined ? {} : { cause })
  }

  abandon(cause: unknown): void {
    if (!this.#isOver) this.#end(true, { cause })
  }

  #end(isLost: boolean, options: ErrorOptions = {}): void {
    this.#isOver = true
    this.#context.keeper.remove(this)
    this.#context.onOver(this, isLost)
    if (isLost) this.#lost.abort(new LockLostError(this.name, this.token, options))
  }

  async #release(): Promise<boolean> {
    if (this.#isOver) return false
    const { clock, release } = this.#context
    this.#end(false)
    return repeat({ clock, until: () => this.endsAt }, async (isUncertain) => {
      const released = await release([this])
      // Nobody can take it before its end: an earlier try released it, and its answer was lost (M8).
      return released.has(this.holder) || (isUncertain && clock.now() < this.endsAt)
    })
  }
}
