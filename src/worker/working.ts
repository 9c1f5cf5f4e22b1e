import { hostname } from 'node:os'
import type { Clock } from '../core/clock.ts'
import { notice, runChannel } from '../core/telemetry.ts'
import { wait } from '../core/wait.ts'
import type { Executor } from '../database/executor.ts'
import { isForAMember } from '../database/halving.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { DatabaseError, ShutdownError } from '../errors.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { claimer } from './claim.ts'
import { claimLoop } from './claim-loop.ts'
import { startRun } from './execute.ts'
import type { ActiveRun } from './execute.ts'
import { afterRelease } from './fate.ts'
import { housekeeper } from './housekeeping.ts'
import { leaseKeeper } from './lease.ts'
import { marks } from './marks.ts'
import type { WorkerSetup } from './options.ts'
import { lanesOf } from './probes.ts'
import { recoverer } from './recover.ts'
import { roster } from './roster.ts'
import { settler } from './settle.ts'
import type { FateRow } from './settle-statements.ts'
import { slots } from './slots.ts'
import { strays } from './strays.ts'
import { warnings } from './warnings.ts'

/**
 * A worker at work: its parts put together, from start to stop. Each part has a connection of its
 * own purpose, so that claiming, settling, renewing and maintenance never wait for one another.
 */
export interface Working {
  /** Claims nothing more, lets runs end for `graceMs`, hands the rest back, and ends everything. */
  stop(graceMs: number): Promise<void>
  /** Ends the grace of a stop under way. */
  hasten(): void
}

export interface WorkerContext {
  readonly executor: Executor
  readonly wakeups: Wakeups
  /** Until which instant a job is announced: beyond it polling is in time. */
  readonly hintUntil: () => string
  /** Grows when the client's clock was found out of step. */
  readonly doubts: () => number
}

// Ended runs that wait to be written: more would only be memory.
const MOST_UNSETTLED = 5_000
const RECOVER_EVERY = 10_000
const RECOVER_APART = 500
const HOUSEKEEP_EVERY = 60_000
const SEEK_STRAYS = 60_000

export function startWorking(id: string, setup: WorkerSetup, context: WorkerContext): Working {
  const { executor, wakeups, hintUntil } = context
  const { clock } = executor
  const hurry = new AbortController()
  const active = new Set<ActiveRun>()
  const finishing = new Set<Promise<void>>()
  const warn = warnings({ worker: id, origin: executor.origin, clock })
  const notSettled = warn.of('a run could not be settled; its job comes back when the lease ends')
  const notHandedBack = warn.of('a claimed job could not be handed back')
  let wasBehind = false

  const live = roster()
  const taken = slots(setup)
  const found = marks()
  const space = {
    queues: setup.queues,
    queueCaps: setup.queueCaps,
    lanes: lanesOf(
      [...setup.kinds.values()].map(({ kind, concurrency }) => ({ name: kind.name, concurrency })),
    ),
  }
  const hasCaps = setup.queueCaps.size > 0 || space.lanes.some((lane) => lane.capped)
  const maintenance = executor.lane('maintenance')
  const lost = strays({
    worker: id,
    clock,
    lane: maintenance,
    roster: live,
    seekMs: SEEK_STRAYS,
    hintUntil,
  })
  const settling = settler({
    worker: id,
    clock,
    lane: executor.lane('settle'),
    hintUntil,
    signal: hurry.signal,
    onFailure: warn.of('ended runs could not be written yet'),
  })
  const keeper = leaseKeeper({
    worker: id,
    clock,
    lane: executor.lane('renew'),
    roster: live,
    doubts: context.doubts,
    onFailure: warn.of('leases could not be renewed'),
  })
  const recovering = recoverer({
    worker: id,
    clock,
    lane: maintenance,
    roster: live,
    strays: lost,
    everyMs: () => Math.max(RECOVER_APART, Math.min(RECOVER_EVERY, live.shortestLease)),
    doubts: context.doubts,
    hintUntil,
    onFailure: warn.of('lapsed leases could not be recovered'),
  })
  const keeping = housekeeper({
    clock,
    lane: maintenance,
    everyMs: HOUSEKEEP_EVERY,
    onFailure: warn.of('maintenance failed'),
  })
  const loop = claimLoop({
    clock,
    slots: taken,
    marks: found,
    queues: setup.queues,
    hasCaps,
    claimer: claimer({
      worker: id,
      clock,
      space,
      slots: taken,
      marks: found,
      strays: lost,
      claimLane: executor.lane('claim'),
      lookLane: maintenance,
    }),
    pollMs: () => (wakeups.isListening && !lost.areSought ? setup.pollMs : setup.blindPollMs),
    isBehind,
    start,
    handBack,
    onFailure: warn.of('jobs could not be claimed'),
  })

  const unsubscribe = wakeups.subscribe(loop.hear)
  const claiming = loop.run()
  const others = Promise.all([keeper.run(), recovering.run(), keeping.run()])

  function start(row: ClaimedRow): void {
    const handled = setup.kinds.get(row.kind)
    if (handled === undefined) {
      handBack([row])
      return
    }
    // A failover that forgot a claim brings the same run number again: it is under way here already.
    if (live.has(row.job_id, row.run)) return
    taken.take(row.kind, row.queue)
    const run = startRun(row, handled, clock)
    active.add(run)
    live.add(run)
    keeper.noticed(run)
    track(finish(run))
  }

  async function finish(run: ActiveRun): Promise<void> {
    const fate = await observed(run)
    run.isEnded = true
    active.delete(run)
    taken.give(run.kind, run.queue)
    loop.slotGiven()
    const applied = fate !== null && (await settle(run, fate))
    live.remove(run)
    if (!applied) lostNotice(run)
    if (wasBehind && settling.size < MOST_UNSETTLED) loop.caughtUp()
  }

  function isBehind(): boolean {
    wasBehind = settling.size >= MOST_UNSETTLED
    return wasBehind
  }

  /** Writes the fate; one that cannot be stored becomes a failure that says so (O3). False: the lease was lost. */
  async function settle(run: ActiveRun, fate: FateRow): Promise<boolean> {
    const leaseEndsAt = (): number => run.leaseEndsAt
    try {
      return await settling.settle({ fate, leaseEndsAt }).catch((error: unknown) => {
        // A database that is away says nothing about this fate: the run did not fail.
        if (error instanceof DatabaseError && !isForAMember(error)) throw error
        return settling.settle({ fate: run.unstorable(error), leaseEndsAt })
      })
    } catch (error) {
      notSettled(error)
      return true
    }
  }

  function handBack(rows: readonly ClaimedRow[]): void {
    for (const row of rows) {
      const fate = afterRelease({ id: row.job_id, run: row.run })
      const settled = settling.settle({ fate, leaseEndsAt: () => row.lease_ends_at })
      track(settled.then(() => undefined, notHandedBack))
    }
  }

  function observed(run: ActiveRun): Promise<FateRow | null> {
    if (!runChannel.start.hasSubscribers) return run.fate
    const { id: job, run: number, kind, queue } = run
    const facts = { origin: executor.origin, id: job, run: number, kind, queue, worker: id }
    return runChannel.tracePromise(() => run.fate, facts)
  }

  function track(work: Promise<void>): void {
    finishing.add(work)
    void work.finally(() => finishing.delete(work))
  }

  function lostNotice(run: ActiveRun): void {
    const facts = { worker: id, job: run.id, run: run.run, kind: run.kind }
    const message = 'a run lost its lease; what it did is not recorded'
    notice({ origin: executor.origin, level: 'warn', message, facts })
  }

  async function allEnded(): Promise<void> {
    await claiming
    while (finishing.size > 0) await Promise.all(finishing)
  }

  return {
    async stop(graceMs) {
      unsubscribe()
      loop.stop()
      const reason = new ShutdownError()
      for (const run of active) run.abort(reason)
      const ended = allEnded()
      const graceEnds = grace(clock, graceMs, hurry.signal)
      await Promise.race([ended, graceEnds.over])
      graceEnds.cancel()
      for (const run of active) run.release()
      hurry.abort()
      await ended
      keeper.stop()
      recovering.stop()
      keeping.stop()
      await others
    },
    hasten: () => hurry.abort(),
  }
}

/** Who a worker is: readable for people, and never the same twice (C6). */
export function workerId(random: string): string {
  return `${hostname()}:${process.pid}:${random}`
}

function grace(
  clock: Clock,
  graceMs: number,
  hurry: AbortSignal,
): { readonly over: Promise<void>; readonly cancel: () => void } {
  const cancelled = new AbortController()
  const over = wait(clock, graceMs, AbortSignal.any([hurry, cancelled.signal]))
  return { over, cancel: () => cancelled.abort() }
}
