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
  /** Looks, without renewing, which leases are still there, and tells the runs of the others. */
  check(): Promise<void>
  /** A run was added whose lease may need renewal, or end, sooner than planned. */
  noticed(run: LiveRun): void
  stop(): void
}

export interface LeaseKeeperOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  readonly roster: Roster
  /** Grows when the clock was out of step: then everything is renewed at once, before any run is told. */
  readonly doubts: () => number
  /** A run's transaction holds the only connection: renewals count as made. */
  readonly isHeld: () => boolean
  /** Told of failures that pass; renewal goes on by itself. */
  readonly onFailure: (error: unknown) => void
}

const AGAIN_SOON = 1_000
// Renewals a little early share a statement with those that are due.
const GATHER = 0.05
// A run is told that its lease is over a moment before others may take it.
const MARGIN = 100
const SHORT_MARGIN = 0.1
// While anything runs: a machine that slept did not notice that its timers are late.
const LONGEST_WAIT = 1_000

export function leaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  const { worker, clock, lane, roster } = options
  const alarm = bell(clock)
  let stopped = false
  let planned = Number.POSITIVE_INFINITY
  let watched = Number.POSITIVE_INFINITY
  let cancelWatch: (() => void) | undefined
  let doubtsSeen = options.doubts()
  let isAsking = false

  async function run(): Promise<void> {
    while (!stopped) {
      watch()
      planned = soonest((each) => each.renewAt)
      const pause = Math.min(planned - clock.now(), LONGEST_WAIT)
      await alarm.wait(roster.size === 0 ? FOREVER : pause)
      if (isInDoubt()) for (const each of roster.all()) each.renewAt = clock.now()
      if (!stopped) await renewDue()
      isAsking = false
    }
    cancelWatch?.()
  }

  /** The process may have been stopped past the ends of its leases: what nobody took is still ours. */
  function isInDoubt(): boolean {
    if (options.doubts() !== doubtsSeen) {
      doubtsSeen = options.doubts()
      isAsking = true
    }
    return isAsking
  }

  async function renewDue(): Promise<void> {
    const now = clock.now()
    const due = [...roster.all()].filter(
      (each) => !each.isTold && each.renewAt - each.leaseMs * GATHER <= now,
    )
    if (due.length === 0) return
    if (options.isHeld()) {
      countAsMade(due)
      watch()
      return
    }
    for (const each of due) each.renewAt = now + Math.min(AGAIN_SOON, each.leaseMs / 3)
    watch()
    try {
      const left = extended(due, await lane.run(renewLeases, parametersOf(due)))
      if (left.length > 0) lose(left, await lane.run(heldLeases, parametersOf(left)))
    } catch (error) {
      options.onFailure(error)
    }
  }

  async function check(): Promise<void> {
    const living = [...roster.all()].filter((each) => !each.isTold && !each.isEnded)
    if (living.length > 0) lose(living, await lane.run(heldLeases, parametersOf(living)))
  }

  /** Nobody can take a job meanwhile; the renewal itself follows soon. */
  function countAsMade(runs: readonly LiveRun[]): void {
    const now = clock.now()
    for (const each of runs) {
      each.leaseEndsAt = now + each.leaseMs
      each.renewAt = now + Math.min(AGAIN_SOON, each.leaseMs / 3)
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
    watched = soonest(endOf)
    if (watched === Number.POSITIVE_INFINITY) return
    cancelWatch = clock.after(watched - clock.now(), () => {
      if (isInDoubt()) {
        alarm.ring()
        return
      }
      const now = clock.now()
      const over = [...roster.all()].filter((each) => endOf(each) <= now)
      if (options.isHeld()) countAsMade(over)
      else for (const each of over) tell(each)
      watch()
    })
  }

  /** Of those that were not told: nothing is planned for the others. */
  function soonest(instantOf: (run: LiveRun) => number): number {
    let found = Number.POSITIVE_INFINITY
    for (const each of roster.all()) if (!each.isTold) found = Math.min(found, instantOf(each))
    return found
  }

  return {
    run,
    check,
    noticed(each) {
      if (endOf(each) < watched) watch()
      if (each.renewAt < planned) alarm.ring()
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

function endOf(run: LiveRun): number {
  return run.leaseEndsAt - Math.min(MARGIN, run.leaseMs * SHORT_MARGIN)
}

const FOREVER = 2 ** 31 - 1
