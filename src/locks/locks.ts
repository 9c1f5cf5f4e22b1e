import { makeId } from '../core/id.ts'
import { notice } from '../core/telemetry.ts'
import type { Executor } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { ClosedError, DatabaseError } from '../errors.ts'
import { LockLostError } from './lock-errors.ts'
import { doubtsOf } from './doubts.ts'
import { lockKeeper } from './keeper.ts'
import { heldLock } from './lock.ts'
import type { Acquired, HeldLock, Lock, LockContext } from './lock.ts'
import { lockRecords } from './lock-records.ts'
import type { Locks } from './lock-records.ts'
import { lockSettings, lockWaitSettings } from './lock-options.ts'
import type { LockOptions, LockSettings, LockWaitOptions } from './lock-options.ts'
import { lockTable } from './lock-table.ts'
import { waitingLines } from './waiting.ts'

/**
 * Locks with an end (K1, K2): one row each, taken by one statement, kept by renewals, and numbered by
 * a token that grows with every holder, so that what is guarded can tell a late writer.
 */
export interface LockVerbs {
  /** Locks as they stand, and breaking one by hand. */
  readonly locks: Locks
  /**
   * The lock if it is free and nobody is in line for it, else null, at once. `ttl` has no default:
   * it is how long everybody waits when this process dies.
   * Throws `InvalidNameError`, `InvalidOptionError`, and `DatabaseError` when the database stays away for 10 s.
   *
   * @example
   * await using lock = await mill.tryLock('nightly report', { ttl: '30s' })
   * if (lock === null) return
   */
  tryLock(name: string, options: LockOptions): Promise<Lock | null>
  /**
   * Waits until the lock is free, behind those who came before. Rejects with `LockWaitError` after
   * `wait`, with the reason of `signal`, with `ClosedError` when the client is closed; a database that
   * is away is waited for. Throws `InvalidNameError` and `InvalidOptionError`.
   *
   * @example
   * await using lock = await mill.lock('import', { ttl: '30s', wait: '5m' })
   */
  lock(name: string, options: LockWaitOptions): Promise<Lock>
  /**
   * Waits as `lock` does, calls `fn`, and releases the lock when it is through. Gives what `fn` gave;
   * rejects with what it threw, or with `LockLostError` if it went on past the loss of the lock.
   *
   * @example
   * await mill.withLock('import', { ttl: '30s' }, (lock) => importAll({ signal: lock.signal }))
   */
  withLock<T>(
    name: string,
    options: LockWaitOptions,
    fn: (lock: Lock) => T | Promise<T>,
  ): Promise<T>
}

/** What a client does with locks. */
export interface Locking {
  readonly verbs: LockVerbs
  /** Ends the waits, tells the holders, and releases what they held. */
  close(): Promise<void>
}

export interface LockingOptions {
  readonly executor: Executor
  readonly wakeups: () => Wakeups
  /** Whether who waits is told of releases. */
  readonly wake: 'listen' | 'poll'
  /** Grows when the client's clock was found out of step. */
  readonly doubts: () => number
  /** How far the client's clock may be off, in milliseconds. */
  readonly errorMs: () => number
}

const WAIT_LIMIT = 10_000

export function locking(options: LockingOptions): Locking {
  const { executor, wakeups, errorMs, doubts } = options
  const { clock, origin } = executor
  const announce = options.wake === 'listen'
  const held = new Set<HeldLock>()
  const taking = new Set<Promise<unknown>>()
  let isClosed = false
  let isFailing = false
  const table = lockTable({ executor, errorMs, doubts: doubtsOf(clock, doubts), announce })
  const keeper = lockKeeper({
    clock,
    errorMs,
    doubts,
    lane: () => executor.lane('renew'),
    onRenewed: () => {
      isFailing = false
    },
    onFailure: tellFailure,
  })
  const context: LockContext = {
    clock,
    keeper,
    release: (locks) => tracked(table.release(locks)),
    onOver,
  }
  const waiting = waitingLines({ clock, table, errorMs, wakeups, onUnlocked: keeper.check })

  async function tryLock(name: string, options: LockOptions): Promise<Lock | null> {
    const settings = lockSettings('tryLock()', name, options)
    if (isClosed) throw new ClosedError()
    return tracked(takeNow(settings))
  }

  async function takeNow(settings: LockSettings): Promise<Lock | null> {
    const ask = { ...settings, holder: newHolder() }
    const end = clock.now() + WAIT_LIMIT
    try {
      const { token, expires_at: expiresAt } = await repeat({ clock, until: () => end }, () =>
        table.take(ask, []),
      )
      if (token === null || expiresAt === null) return null
      return await kept({ ...ask, token, expiresAt })
    } catch (error) {
      // It may be ours without an answer: nobody else should wait for its end.
      if (error instanceof DatabaseError && error.outcomeUnknown) giveBack(ask)
      throw error
    }
  }

  async function lock(name: string, options: LockWaitOptions, where = 'lock()'): Promise<Lock> {
    const settings = lockWaitSettings(where, name, options)
    settings.signal?.throwIfAborted()
    if (isClosed) throw new ClosedError()
    const holder = newHolder()
    const { token, expires_at: expiresAt } = await waiting.waitFor(settings, holder)
    return kept({ ...settings, holder, token, expiresAt })
  }

  async function withLock<T>(
    name: string,
    options: LockWaitOptions,
    fn: (lock: Lock) => T | Promise<T>,
  ): Promise<T> {
    const mine = await lock(name, options, 'withLock()')
    try {
      const value = await fn(mine)
      // A lock that cannot be released was held as far as anybody knows, and ends by itself.
      const wasHeld = await mine.release().catch(() => !mine.signal.aborted)
      if (wasHeld) return value
      throw new LockLostError(name, mine.token, { cause: mine.signal.reason })
    } finally {
      await mine[Symbol.asyncDispose]()
    }
  }

  /** The client may have been closed since it was asked for. */
  async function kept(acquired: Acquired): Promise<Lock> {
    if (!isClosed) {
      const made = heldLock(acquired, context)
      // One whose answer came after its end is lost already.
      if (!made.signal.aborted) held.add(made)
      return made
    }
    await table.release([acquired]).catch(() => undefined)
    throw new ClosedError()
  }

  function giveBack(ask: { readonly name: string; readonly holder: string }): void {
    void tracked(table.release([ask]).catch(() => undefined))
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    const done = work.then(
      () => undefined,
      () => undefined,
    )
    taking.add(done)
    void done.finally(() => taking.delete(done))
    return work
  }

  function newHolder(): string {
    return makeId(clock.now())
  }

  function onOver(over: HeldLock, isLost: boolean): void {
    held.delete(over)
    if (!isLost || isClosed) return
    const facts = { lock: over.name, token: over.token }
    notice({ origin, level: 'warn', message: 'a lock was lost', facts })
  }

  // Once, until a renewal goes through: it is tried each second.
  function tellFailure(error: unknown): void {
    if (isFailing) return
    isFailing = true
    const facts = { error: error instanceof Error ? error.message : String(error) }
    notice({ origin, level: 'warn', message: 'locks could not be renewed', facts })
  }

  async function close(): Promise<void> {
    isClosed = true
    await waiting.close()
    const locks = [...held]
    const cause = new ClosedError()
    for (const each of locks) each.abandon(cause)
    // Where it fails they end by themselves.
    if (locks.length > 0) await table.release(locks).catch(() => undefined)
    await Promise.all(taking)
    await keeper.idle()
  }

  const locks = lockRecords({ runner: () => executor.lane('read'), announce })
  return { verbs: { locks, tryLock, lock: (name, given) => lock(name, given), withLock }, close }
}
