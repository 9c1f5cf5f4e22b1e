import { hostname } from 'node:os'
import { notice, runChannel } from '../core/telemetry.ts'
import type { Queryable } from '../database/database.ts'
import type { Executor, Runner } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { ShutdownError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { Producer } from '../jobs/producer.ts'
import type { QueueDecisions } from '../queues/decisions.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { claimer } from './claim.ts'
import { claimLoop } from './claim-loop.ts'
import { connectionHolds } from './connection-holds.ts'
import { ending } from './ending.ts'
import { startRun } from './execute.ts'
import type { ActiveRun, RunEnd } from './execute.ts'
import { grace } from './grace.ts'
import { housekeeper } from './housekeeping.ts'
import { leaseKeeper } from './lease.ts'
import { marks } from './marks.ts'
import { news } from './news.ts'
import type { WorkerSetup } from './options.ts'
import { presence } from './presence.ts'
import { lanesOf } from './probes.ts'
import { recoverer } from './recover.ts'
import { roster } from './roster.ts'
import { settler } from './settle.ts'
import { runServices } from './services.ts'
import { transactionPool } from './transaction-pool.ts'
import { progressWriter } from './progress.ts'
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
  readonly decisions: QueueDecisions
  /** Until which instant a job is announced: beyond it polling is in time. */
  readonly hintUntil: () => string
  /** Grows when the client's clock was found out of step. */
  readonly doubts: () => number
  /** Checks an ask of a run, as the client's own are checked. */
  readonly prepareAsk: (kind: JobKind, input: unknown, options: object) => Ask | Promise<Ask>
  /** Writes asks on a transaction. */
  readonly writeAsks: (runner: Runner, asks: readonly Ask[]) => Promise<unknown>
  /** Gives offsets to events in streams that nobody reads. */
  readonly sequenceStreams: (isStopped: () => boolean) => Promise<void>
  /** The verbs of a producer on a transaction. */
  readonly producerOn: (transaction: Queryable) => Producer
}

// Ended runs that wait to be written: more would only be memory.
const MOST_UNSETTLED = 5_000
const RECOVER_EVERY = 10_000
const RECOVER_APART = 500
const HOUSEKEEP_EVERY = 60_000
const SEEK_STRAYS = 60_000

export function startWorking(id: string, setup: WorkerSetup, context: WorkerContext): Working {
  const { executor, wakeups, decisions, hintUntil } = context
  const { clock, events } = executor
  const hurry = new AbortController()
  const active = new Set<ActiveRun>()
  const finishing = new Set<Promise<void>>()
  const warn = warnings({ worker: id, origin: executor.origin, clock })
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
  const pool = transactionPool(executor.engine)
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
    everyMs: () => Math.max(RECOVER_APART, Math.min(RECOVER_EVERY, live.shortestLease)),
    doubts: context.doubts,
    onFailure: warn.of('lapsed leases could not be recovered'),
  })
  const { check: checkLeases } = keeper
  const kinds = [...setup.kinds.values()].map(({ kind }) => kind)
  const told = { wakeups, hintUntil, warn: warn.of }
  const heard = news({ worker: id, executor, roster: live, kinds, checkLeases, ...told })
  const keeping = housekeeper({
    clock,
    lane: maintenance,
    events,
    everyMs: HOUSEKEEP_EVERY,
    sequenceStreams: context.sequenceStreams,
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
      ratio: setup.ratio,
      queues: decisions,
      claimLane: executor.lane('claim'),
      lookLane: maintenance,
    }),
    pollMs: () => (wakeups.isListening && !lost.areSought ? setup.pollMs : setup.blindPollMs),
    isBehind,
    start,
    handBack,
    onFailure: warn.of('jobs could not be claimed'),
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
    onChange: loop.caughtUp,
    onFailure: warn.of('paused queues could not be read'),
  })
  const unsubscribe = wakeups.subscribe(loop.hear)
  const claiming = loop.run()
  const others = Promise.all([
    keeper.run(),
    recovering.run(),
    keeping.run(),
    telling.run(),
    heard.run(),
  ])

  function start(row: ClaimedRow): void {
    const handled = setup.kinds.get(row.kind)
    if (handled === undefined) {
      handBack([row])
      return
    }
    // A failover that forgot a claim brings the same run number again: it is under way here already.
    if (live.has(row.job_id, row.run)) return
    taken.take(row.kind, row.queue)
    const run = startRun(row, handled, { clock, services, failures: setup.failures })
    active.add(run)
    live.add(run)
    keeper.noticed(run)
    heard.began(run)
    track(finish(run))
  }

  async function finish(run: ActiveRun): Promise<void> {
    const end = await observed(run)
    run.isEnded = true
    active.delete(run)
    taken.give(run.kind, run.queue)
    loop.slotGiven()
    const applied = end.type === 'fate' ? await endings.write(run, end) : end.type === 'settled'
    live.remove(run)
    if (end.type === 'settled') heard.endedItself(run)
    if (applied) heard.settled(run)
    else lostNotice(run)
    if (wasBehind && settling.size < MOST_UNSETTLED) loop.caughtUp()
  }

  function isBehind(): boolean {
    wasBehind = settling.size >= MOST_UNSETTLED
    return wasBehind
  }

  function handBack(rows: readonly ClaimedRow[]): void {
    for (const back of endings.handBack(rows)) track(back)
  }

  function observed(run: ActiveRun): Promise<RunEnd> {
    if (!runChannel.start.hasSubscribers) return run.end
    const { id: job, run: number, kind, queue } = run
    const facts = { origin: executor.origin, id: job, run: number, kind, queue, worker: id }
    return runChannel.tracePromise(() => run.end, facts)
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
