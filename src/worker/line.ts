import type { Clock } from '../core/clock.ts'
import { LeaseLostError } from '../errors.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { LiveRun, Roster } from './roster.ts'

/**
 * Jobs that were claimed before there was a slot for them, in the order they were claimed. Their
 * leases are renewed as those of runs are, and what befalls a lease befalls them: a lost one is
 * dropped, a cancelled one goes back to be settled as such, and so does one that waited far longer
 * than was foreseen, so that another worker can have it.
 */
export interface Line {
  hold(row: ClaimedRow): void
  /** The first that may begin; undefined: none. */
  next(): ClaimedRow | undefined
  /** Hands back those that a pause, or the end of the worker, concerns. */
  sendBack(concerns: (row: ClaimedRow) => boolean): void
  readonly size: number
}

export interface LineOptions {
  readonly clock: Clock
  readonly roster: Roster
  /** A lease was added that may need renewal sooner than planned. */
  readonly onHeld: (held: LiveRun) => void
  /** It left without a run: its slot is free, and the job goes back to its place unless the lease is gone. */
  readonly onLeft: (row: ClaimedRow, isLost: boolean) => void
}

// Far beyond what is foreseen: the runs before it took longer than those that the forecast knew.
const LONGEST_WAIT = 500
// A handler that begins now has at least this share of its lease.
const SHARE_OF_LEASE = 0.25

interface Held extends LiveRun {
  readonly row: ClaimedRow
  readonly since: number
  hasLeft: boolean
}

export function line({ clock, roster, onHeld, onLeft }: LineOptions): Line {
  let waiting: Held[] = []
  // Taken from the front by moving on; a line of a long backlog is never empty, so the array is cut
  // when half of it is behind.
  let front = 0
  let size = 0
  let cancelSweep: (() => void) | undefined

  function leave(held: Held): void {
    held.hasLeft = true
    size -= 1
  }

  function drop(held: Held, isLost: boolean): void {
    if (held.hasLeft) return
    leave(held)
    roster.remove(held)
    onLeft(held.row, isLost)
  }

  function first(): Held | undefined {
    while (front < waiting.length) {
      const held = waiting[front]
      front += 1
      if (front * 2 >= waiting.length) cut()
      if (held !== undefined && !held.hasLeft) return held
    }
    return undefined
  }

  function cut(): void {
    waiting = waiting.slice(front)
    front = 0
  }

  function sendBack(concerns: (held: Held) => boolean): void {
    for (const held of waiting.slice(front)) if (concerns(held)) drop(held, false)
  }

  function sweep(): void {
    cancelSweep = undefined
    const before = clock.now() - LONGEST_WAIT
    sendBack((held) => held.since <= before)
    sweepLater()
  }

  function sweepLater(): void {
    if (size > 0) cancelSweep ??= clock.after(LONGEST_WAIT, sweep)
  }

  function endSweep(): void {
    cancelSweep?.()
    cancelSweep = undefined
  }

  return {
    hold(row) {
      const held: Held = {
        row,
        since: clock.now(),
        hasLeft: false,
        id: row.job_id,
        run: row.run,
        leaseMs: row.lease_ms,
        leaseEndsAt: row.lease_ends_at,
        renewAt: row.lease_ends_at - (row.lease_ms * 2) / 3,
        isEnded: false,
        isTold: false,
        abort: (reason) => drop(held, reason instanceof LeaseLostError),
      }
      waiting.push(held)
      size += 1
      roster.add(held)
      onHeld(held)
      sweepLater()
    },
    next() {
      for (let held = first(); held !== undefined; held = first()) {
        // The process may have been busy, or stopped, for longer than the lease: whoever took the job
        // meanwhile runs it, and who begins it now must be able to end it.
        if (hasTimeLeft(held, clock.now())) {
          leave(held)
          return renewedRow(held)
        }
        drop(held, false)
      }
      endSweep()
      return undefined
    },
    sendBack(concerns) {
      sendBack((held) => concerns(held.row))
      if (size === 0) endSweep()
    },
    get size() {
      return size
    },
  }
}

/** Enough of its lease is left for a run that begins now to end it. */
export function hasTimeLeft(
  { leaseEndsAt, leaseMs }: Pick<LiveRun, 'leaseEndsAt' | 'leaseMs'>,
  now: number,
): boolean {
  return leaseEndsAt - now > leaseMs * SHARE_OF_LEASE
}

function renewedRow({ row, leaseEndsAt }: Held): ClaimedRow {
  return row.lease_ends_at === leaseEndsAt ? row : { ...row, lease_ends_at: leaseEndsAt }
}
