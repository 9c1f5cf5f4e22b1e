import type { Clock } from '../core/clock.ts'
import { bell, wait } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { heldLocks, renewLocks } from './lock-statements.ts'
import type { HeldLockRow } from './lock-statements.ts'

/**
 * Keeps the locks of one client (K2): each is renewed when a third of its ttl has passed, those that
 * are due in one statement, on the connection that renews leases. A lock that ends is lost, whether
 * anybody took it or not; its holder is told a moment before its end, by as much as this client's
 * clock may be off, and apart from the statements, which may hang.
 */
export interface LockKeeper {
  add(lock: KeptLock): void
  /** It is released, or over. */
  remove(lock: KeptLock): void
  /** Renews now; answers whether it was still held. */
  renew(lock: KeptLock, ttlMs: number): Promise<boolean>
  /** A lock of this name was released by hand: looks whether it is the one that is held here. */
  check(name: string): void
  /** Resolves when nothing of it is under way; there are no locks any more. */
  idle(): Promise<void>
}

/** A lock that is held here, as far as this client knows. */
export interface KeptLock {
  readonly name: string
  readonly holder: string
  readonly renews: boolean
  ttlMs: number
  /** When it ends, by the database's clock. */
  endsAt: number
  renewAt: number
  /** Tells its holder. */
  lose(): void
}

export interface LockKeeperOptions {
  readonly clock: Clock
  readonly lane: () => Lane
  /** How far the clock may be off, in milliseconds. */
  readonly errorMs: () => number
  /** Grows when the clock was out of step: then it is set before anybody is told anything. */
  readonly doubts: () => number
  /** A renewal went through. */
  readonly onRenewed: () => void
  /** Told of failures that pass; renewal goes on by itself. */
  readonly onFailure: (error: unknown) => void
}

const AGAIN_SOON = 1_000
// Renewals a little early share a statement with those that are due.
const GATHER = 0.05
// While anything is held: a machine that slept did not notice that its timers are late.
const LONGEST_WAIT = 1_000
// A row that is skipped is being written by a statement of somebody: over in a moment.
const SKIPPED_TRIES = 10
const SKIPPED_PAUSE = 20

export function lockKeeper(options: LockKeeperOptions): LockKeeper {
  const { clock, lane } = options
  const alarm = bell(clock)
  const held = new Set<KeptLock>()
  const suspected = new Set<KeptLock>()
  let running: Promise<void> | undefined
  let watched = Number.POSITIVE_INFINITY
  let cancelWatch: (() => void) | undefined
  let doubtsSeen = options.doubts()
  let isInDoubt = false

  async function run(): Promise<void> {
    while (held.size > 0) {
      watch()
      const planned = soonest((each) => (each.renews ? each.renewAt : Number.POSITIVE_INFINITY))
      await alarm.wait(Math.min(planned - clock.now(), LONGEST_WAIT))
      await settleDoubt()
      await lookAtSuspected()
      await renewDue()
    }
    running = undefined
  }

  /** Where the machine slept the clock stood still, and locks have ended by everybody else's. */
  async function settleDoubt(): Promise<void> {
    if (options.doubts() !== doubtsSeen) isInDoubt = true
    doubtsSeen = options.doubts()
    if (!isInDoubt) return
    try {
      await lane().ready()
      isInDoubt = false
      loseEnded()
      for (const each of held) if (each.renews) each.renewAt = clock.now()
    } catch (error) {
      options.onFailure(error)
    }
  }

  async function lookAtSuspected(): Promise<void> {
    const living = [...suspected].filter((each) => held.has(each))
    suspected.clear()
    if (living.length === 0) return
    try {
      loseMissing(living, await lane().run(heldLocks, { locks: textOf(living) }))
    } catch (error) {
      options.onFailure(error)
    }
  }

  async function renewDue(): Promise<void> {
    const now = clock.now()
    const due = [...held].filter((each) => each.renews && each.renewAt - each.ttlMs * GATHER <= now)
    if (due.length === 0) return
    for (const each of due) each.renewAt = now + Math.min(AGAIN_SOON, each.ttlMs / 3)
    try {
      const left = extended(due, await lane().run(renewLocks, { locks: textOf(due) }))
      if (left.length > 0) loseMissing(left, await lane().run(heldLocks, { locks: textOf(left) }))
      options.onRenewed()
    } catch (error) {
      options.onFailure(error)
    }
  }

  async function renew(lock: KeptLock, ttlMs: number): Promise<boolean> {
    for (let tries = 0; tries < SKIPPED_TRIES && held.has(lock); tries += 1) {
      const locks = textOf([lock], ttlMs)
      const left = extended([lock], await lane().run(renewLocks, { locks }))
      if (left.length === 0) return held.has(lock)
      loseMissing(left, await lane().run(heldLocks, { locks }))
      await wait(clock, SKIPPED_PAUSE)
    }
    return held.has(lock)
  }

  /** Takes over what the renewal answered; gives the locks that it did not name. */
  function extended(due: readonly KeptLock[], rows: readonly HeldLockRow[]): readonly KeptLock[] {
    const ends = new Map(rows.map((row) => [row.holder, row.expires_at]))
    const left: KeptLock[] = []
    for (const each of due) {
      const end = ends.get(each.holder)
      if (end === undefined) left.push(each)
      else {
        // Answers may come in another order than the statements were written.
        each.endsAt = Math.max(each.endsAt, end)
        each.renewAt = each.endsAt - (each.ttlMs * 2) / 3
      }
    }
    watch()
    return left
  }

  /** Skipped ones are still there and come again soon; the others are lost. */
  function loseMissing(left: readonly KeptLock[], rows: readonly HeldLockRow[]): void {
    const found = new Set(rows.map((row) => row.holder))
    for (const each of left) if (!found.has(each.holder)) lose(each)
  }

  function loseEnded(): void {
    const now = clock.now()
    for (const each of held) if (endOf(each) <= now) lose(each)
  }

  function lose(lock: KeptLock): void {
    if (held.delete(lock)) lock.lose()
    if (held.size === 0) alarm.ring()
  }

  function watch(): void {
    cancelWatch?.()
    watched = soonest(endOf)
    if (watched === Number.POSITIVE_INFINITY) return
    cancelWatch = clock.after(watched - clock.now(), () => {
      loseEnded()
      watch()
    })
  }

  function soonest(instantOf: (lock: KeptLock) => number): number {
    let found = Number.POSITIVE_INFINITY
    for (const each of held) found = Math.min(found, instantOf(each))
    return found
  }

  function endOf(lock: KeptLock): number {
    return lock.endsAt - Math.ceil(options.errorMs())
  }

  return {
    add(lock) {
      held.add(lock)
      // Its answer may have come later than its end.
      loseEnded()
      if (endOf(lock) < watched) watch()
      if (running === undefined) running = run()
      else alarm.ring()
    },
    remove(lock) {
      held.delete(lock)
      if (held.size > 0) return
      watch()
      alarm.ring()
    },
    renew,
    check(name) {
      for (const each of held) if (each.name === name) suspected.add(each)
      if (suspected.size > 0) alarm.ring()
    },
    async idle() {
      await running
    },
  }
}

function textOf(locks: readonly KeptLock[], ttlMs?: number): string {
  return JSON.stringify(
    locks.map((each) => ({ name: each.name, holder: each.holder, ttl_ms: ttlMs ?? each.ttlMs })),
  )
}
