import { hostname } from 'node:os'
import type { Queryable } from '../database/database.ts'
import type { Executor, Runner } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import type { Ask } from '../jobs/ask.ts'
import type { EnqueueResult } from '../jobs/job.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { Producer } from '../jobs/producer.ts'
import type { Starters } from '../jobs/starts.ts'
import type { QueueDecisions } from '../queues/decisions.ts'
import { ahead } from './ahead.ts'
import { claimer } from './claim.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { claimLoop } from './claim-loop.ts'
import { connectionHolds } from './connection-holds.ts'
import { ending } from './ending.ts'
import { grace } from './grace.ts'
import { leaseKeeper } from './lease.ts'
import { marks } from './marks.ts'
import { news } from './news.ts'
import type { WorkerSetup } from './options.ts'
import { presence } from './presence.ts'
import { lanesOf } from './probes.ts'
import { recoverer } from './recover.ts'
import { RECOVER_EVERY, recoverEvery, shortestLease } from './recovery-pace.ts'
import { roster } from './roster.ts'
import type { Roster } from './roster.ts'
import { settler } from './settle.ts'
import { runs } from './runs.ts'
import { runServices } from './services.ts'
import { transactionPool } from './transaction-pool.ts'
import { progressWriter } from './progress.ts'
import { slots } from './slots.ts'
import { starting } from './starting.ts'
import { strays } from './strays.ts'
import { upkeep } from './upkeep.ts'
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
  readonly decisions: QueueDecisions
  /** Until which instant a job is announced: beyond it polling is in time. */
  readonly hintUntil: () => string
  /** Grows when the client's clock was found out of step. */
  readonly doubts: () => number
  /** Checks an ask of a run, as the client's own are checked. */
  readonly prepareAsk: (kind: JobKind, input: unknown, options: object) => Ask | Promise<Ask>
  /** Where a worker offers to start jobs as they are written. */
  readonly starters: Starters
  /** Writes asks on a transaction. */
  readonly writeAsks: (runner: Runner, asks: readonly Ask[]) => Promise<unknown>
  readonly writeAsk: (runner: Runner, ask: Ask) => Promise<EnqueueResult>
  /** Gives offsets to events in streams that nobody reads. */
  readonly sequenceStreams: (isStopped: () => boolean) => Promise<void>
  /** The verbs of a producer on a transaction. */
  readonly producerOn: (transaction: Queryable) => Producer
}

// Ended runs that wait to be written: more would only be memory.
const MOST_UNSETTLED = 2_000
const SEEK_STRAYS = 60_000

export function startWorking(id: string, setup: WorkerSetup, context: WorkerContext): Working {
  const { executor, wakeups, decisions, hintUntil } = context
  const { clock, events } = executor
  const hurry = new AbortController()
  const warn = warnings({ worker: id, origin: executor.origin, clock })
  let wasBehind = false
  const kinds = [...setup.kinds.values()].map(({ kind }) => kind)
  const shortest = shortestLease(kinds)

  const live: Roster = roster(() => {
    if (live.shortestLease < RECOVER_EVERY) recovering.hasten()
  })
  const pace = ahead({ clock, concurrency: setup.concurrency, limit: setup.ahead })
  const taken = slots({ ...setup, ahead: pace.most })
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
  const recovery = { worker: id, clock, lane: maintenance, hintUntil, events }
  const lost = strays({ ...recovery, roster: live, seekMs: SEEK_STRAYS })
  const settling = settler({
    worker: id,
    clock,
    lane: executor.lane('settle'),
    hintUntil,
    signal: hurry.signal,
    onSettled: (rows) => heard.ended(rows),
    events,
    onFailure: warn.of('ended runs could not be written yet'),
  })
  const endings = ending({
    worker: id,
    executor,
    settler: settling,
    writeAsks: context.writeAsks,
    hintUntil,
    signal: hurry.signal,
    onSettled: (rows) => heard.ended(rows),
    warn: warn.of,
  })
  const pool = transactionPool(executor)
  const holds = connectionHolds(executor.engine.isSingleConnection)
  const progress = progressWriter({
    worker: id,
    clock,
    lane: executor.lane('renew'),
    onFailure: warn.of('progress could not be written'),
  })
  const services = runServices({ worker: id, context, pool, holds, progress })
  const keeper = leaseKeeper({
    worker: id,
    clock,
    lane: executor.lane('renew'),
    roster: live,
    doubts: context.doubts,
    isHeld: () => holds.isHeld,
    onFailure: warn.of('leases could not be renewed'),
  })
  const recovering = recoverer({
    ...recovery,
    roster: live,
    strays: lost,
    everyMs: () => recoverEvery(live, shortest),
    doubts: context.doubts,
    onFailure: warn.of('lapsed leases could not be recovered'),
  })
  const { check: checkLeases } = keeper
  const told = { wakeups, hintUntil, warn: warn.of, onGiven: () => loop.caughtUp() }
  const heard = news({ worker: id, executor, roster: live, kinds, checkLeases, ...told })
  const keeping = upkeep({ executor, wakeups, setup, context, warn: warn.of })
  const loop = claimLoop({
    clock,
    slots: taken,
    marks: found,
    queues: setup.queues,
    hasCaps,
    claimer: claimer({
      worker: id,
      clock,
      errorMs: executor.errorMs,
      space,
      slots: taken,
      marks: found,
      strays: lost,
      ratio: setup.ratio,
      queues: decisions,
      claimLane: executor.lane('claim'),
      lookLane: maintenance,
    }),
    pollMs: () => (wakeups.isListening && !lost.areSought ? setup.pollMs : setup.blindPollMs),
    isBehind,
    take,
    handBack,
    onFailure: warn.of('jobs could not be claimed'),
  })

  const running = runs({
    worker: id,
    executor,
    setup,
    services,
    slots: taken,
    ahead: pace,
    roster: live,
    keeper,
    news: heard,
    endings,
    onSlotGiven: loop.slotGiven,
    onWritten() {
      if (wasBehind && settling.size < MOST_UNSETTLED) loop.caughtUp()
    },
  })
  const starts = starting({
    worker: id,
    queues: setup.queues,
    handles: (kind) => setup.kinds.has(kind),
    isPaused: decisions.isPaused,
    isResting: () => loop.isResting && !isBehind(),
    slots: taken,
    strays: lost,
    take,
    handBack,
    onSlotGiven: loop.slotGiven,
    onLost: loop.caughtUp,
  })
  const telling = presence({
    worker: id,
    clock,
    lane: maintenance,
    setup,
    slots: taken,
    onFailure: warn.of('the worker could not tell of itself'),
  })

  const unwatch = decisions.watch({
    runner: maintenance,
    wakeups,
    onChange() {
      running.sendBack(isPaused)
      loop.caughtUp()
    },
    onFailure: warn.of('paused queues could not be read'),
  })
  const unsubscribe = wakeups.subscribe(loop.hear)
  const unoffer = context.starters.add(starts.offer)
  const claiming = loop.run()
  const others = Promise.all([
    keeper.run(),
    recovering.run(),
    keeping.run(),
    telling.run(),
    heard.run(),
  ])

  function take(rows: readonly ClaimedRow[]): void {
    running.take(rows)
    // It was asked for before a pause that was heard meanwhile.
    if (rows.some(isPaused)) running.sendBack(isPaused)
  }

  function handBack(rows: readonly ClaimedRow[]): void {
    running.handBack(rows)
  }

  function isPaused({ queue }: { readonly queue: string }): boolean {
    return decisions.isPaused(queue)
  }

  function isBehind(): boolean {
    wasBehind = settling.size >= MOST_UNSETTLED
    return wasBehind
  }

  async function allEnded(): Promise<void> {
    await Promise.all([claiming, starts.idle()])
    await running.ended()
  }

  return {
    async stop(graceMs) {
      unsubscribe()
      unoffer()
      loop.stop()
      starts.stop()
      running.windDown()
      const ended = allEnded()
      const graceEnds = grace(clock, graceMs, hurry.signal)
      await Promise.race([ended, graceEnds.over])
      graceEnds.cancel()
      running.releaseAll()
      hurry.abort()
      await ended
      keeper.stop()
      const allTold = heard.stop()
      recovering.stop()
      keeping.stop()
      telling.stop()
      progress.stop()
      await unwatch()
      await Promise.all([others, allTold])
      await pool.close()
    },
    hasten: () => hurry.abort(),
  }
}

/** Who a worker is: readable for people, and never the same twice (C6). */
export function workerId(random: string): string {
  return `${hostname()}:${process.pid}:${random}`
}
