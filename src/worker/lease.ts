import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { LeaseLostError } from '../errors.ts'
import { heldLeases, renewLeases } from './lease-statements.ts'
import type { HeldRow } from './lease-statements.ts'
import type { LiveRun, Roster } from './roster.ts'

/**
 * Keeps the leases of living runs from ending (L1): each is renewed when a third of it has passed,
 * on a connection of its own, so that neither a long settlement nor the application's transactions
 * are in the way. A run whose lease somebody else took, or that could not be renewed in time, is
 * told so through its signal (L2).
 */
export interface LeaseKeeper {
  /** Renews until `stop`. */
  run(): Promise<void>
  /** A run was added whose lease may need renewal sooner than planned. */
  noticed(run: LiveRun): void
  /** Renews everything at once: the machine may have slept. */
  hurry(): void
  stop(): void
}

export interface LeaseKeeperOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly roster: Roster
  /** Told of failures that pass; renewal goes on by itself. */
  readonly onFailure: (error: unknown) => void
}

const AGAIN_SOON = 1_000
// Renewals a little early share a statement with those that are due.
const GATHER = 0.05
// A run is told that its lease is over a moment before others may take it.
const MARGIN = 100

export function leaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  const { worker, clock, lane, roster } = options
  const alarm = bell(clock)
  let stopped = false
  let planned = Number.POSITIVE_INFINITY
  let cancelWatch: (() => void) | undefined

  async function run(): Promise<void> {
    while (!stopped) {
      watch()
      planned = soonest((each) => (each.isTold ? Number.POSITIVE_INFINITY : each.renewAt))
      await alarm.wait(planned === Number.POSITIVE_INFINITY ? FOREVER : planned - clock.now())
      if (!stopped) await renewDue()
    }
    cancelWatch?.()
  }

  async function renewDue(): Promise<void> {
    const now = clock.now()
    const due = [...roster.all()].filter(
      (each) => !each.isTold && each.renewAt - each.leaseMs * GATHER <= now,
    )
    if (due.length === 0) return
    for (const each of due) each.renewAt = now + Math.min(AGAIN_SOON, each.leaseMs / 3)
    watch()
    try {
      const left = extended(due, await lane.run(renewLeases, parametersOf(due)))
      if (left.length > 0) lose(left, await lane.run(heldLeases, parametersOf(left)))
    } catch (error) {
      options.onFailure(error)
    }
  }

  /** Takes over what the renewal answered; gives the runs that it did not name. */
  function extended(due: readonly LiveRun[], rows: readonly HeldRow[]): readonly LiveRun[] {
    const renewed = new Set<LiveRun>()
    for (const row of rows) {
      const each = roster.get(row.job_id, row.run)
      if (each === undefined) continue
      each.leaseEndsAt = row.lease_ends_at
      each.renewAt = row.lease_ends_at - (each.leaseMs * 2) / 3
      renewed.add(each)
    }
    return due.filter((each) => !renewed.has(each))
  }

  /** Skipped ones are still there and come again soon; the others are lost. */
  function lose(left: readonly LiveRun[], rows: readonly HeldRow[]): void {
    const held = new Set(rows.map((row) => roster.get(row.job_id, row.run)))
    for (const each of left) if (!held.has(each)) tell(each)
  }

  function parametersOf(runs: readonly LiveRun[]): { runs: string; worker: string } {
    const pairs = runs.map(({ id, run: number }) => ({ id, run: number }))
    return { runs: JSON.stringify(pairs), worker }
  }

  /** Apart from the statements, which may hang: at the end of a lease its run is told. */
  function watch(): void {
    cancelWatch?.()
    const end = soonest((each) => (each.isTold ? Number.POSITIVE_INFINITY : each.leaseEndsAt))
    if (end === Number.POSITIVE_INFINITY) return
    cancelWatch = clock.after(end - MARGIN - clock.now(), () => {
      const now = clock.now()
      for (const each of roster.all()) if (each.leaseEndsAt - MARGIN <= now) tell(each)
      watch()
    })
  }

  function soonest(instantOf: (run: LiveRun) => number): number {
    let found = Number.POSITIVE_INFINITY
    for (const each of roster.all()) found = Math.min(found, instantOf(each))
    return found
  }

  return {
    run,
    noticed(each) {
      if (each.renewAt < planned) alarm.ring()
    },
    hurry() {
      for (const each of roster.all()) each.renewAt = clock.now()
      alarm.ring()
    },
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

/** Tells a run, once, that it lost its lease; one whose fate is decided hears it from its settlement. */
function tell(run: LiveRun): void {
  if (run.isTold) return
  run.isTold = true
  if (!run.isEnded) run.abort(new LeaseLostError(run.id, run.run))
}

const FOREVER = 2 ** 31 - 1
