import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { notice, runChannel } from '../core/telemetry.ts'
import type { Executor } from '../database/executor.ts'
import { ShutdownError } from '../errors.ts'
import { isLastChance } from './ahead.ts'
import type { Ahead } from './ahead.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { Ending } from './ending.ts'
import { makeRun } from './execute.ts'
import type { ActiveRun } from './execute.ts'
import type { RunEnd } from './run-end.ts'
import type { LeaseKeeper } from './lease.ts'
import { hasTimeLeft, line } from './line.ts'
import type { News } from './news.ts'
import type { WorkerSetup } from './options.ts'
import type { Roster } from './roster.ts'
import { runSet } from './run-set.ts'
import type { RunServices } from './run-for.ts'
import type { Slots } from './slots.ts'
import { turnRoom } from './turn-room.ts'

/**
 * The runs of a worker: a claimed job begins where there is a slot, else waits in line for one; what
 * ended is handed on to be written, and its slot to the next.
 */
export interface Runs {
  /** Claimed jobs, the first to begin first. */
  take(rows: readonly ClaimedRow[]): void
  /** Claimed jobs that are not to run here go back to their places. */
  handBack(rows: readonly ClaimedRow[]): void
  /** A queue was paused: what waits of it goes back. */
  sendBack(concerns: (row: ClaimedRow) => boolean): void
  /** The worker stops: what waits goes back, what runs is told. */
  windDown(): void
  /** What still runs is handed back, whatever its handler does. */
  releaseAll(): void
  /** Resolves when nothing runs, and all is written. */
  ended(): Promise<void>
}

export interface RunsOptions {
  readonly worker: string
  readonly executor: Executor
  readonly setup: WorkerSetup
  readonly services: RunServices
  readonly slots: Slots
  readonly ahead: Ahead
  readonly roster: Roster
  readonly keeper: Pick<LeaseKeeper, 'noticed'>
  readonly news: Pick<News, 'began' | 'settled' | 'endedItself'>
  readonly endings: Ending
  readonly onSlotGiven: () => void
  /** A run was written. */
  readonly onWritten: () => void
}

export function runs(options: RunsOptions): Runs {
  const { worker, executor, setup, services, slots, roster, keeper, news, endings } = options
  const { clock } = executor
  const { kinds, concurrency, failures } = setup
  const context = { clock, services, failures, onEnd }
  const active = runSet()
  const observers = new WeakMap<ActiveRun, (end: RunEnd) => void>()
  // A run begins where another ended, and must not find what that one kept in its context.
  const inOwnContext = AsyncLocalStorage.snapshot()
  const room = turnRoom({ concurrency, onNextTurn: beginWaiting })
  let isBeginning = false
  let isWindingDown = false
  // Runs that are not written yet, and jobs on their way back.
  let open = 0
  let allClosed: (() => void) | undefined
  const waiting = line({
    clock,
    roster,
    onHeld: (held) => {
      keeper.noticed(held)
    },
    onLeft(row, isLost) {
      slots.give(row.kind, row.queue)
      options.onSlotGiven()
      if (isLost) lostNotice({ id: row.job_id, run: row.run, kind: row.kind })
      else handBack([row])
    },
  })

  function take(rows: readonly ClaimedRow[]): void {
    options.ahead.claimed(rows)
    room.claimed()
    const late: ClaimedRow[] = []
    for (const row of rows) {
      // A failover that forgot a claim brings the same run number again: it is under way here already.
      if (roster.has(row.job_id, row.run)) continue
      // A handler that was just begun may have stopped the worker at its first word. And the answer may
      // have come when the lease was over, or nearly: then somebody else runs the job, or will.
      if (isWindingDown || !kinds.has(row.kind) || isTooLate(row)) {
        handBack([row])
        continue
      }
      slots.take(row.kind, row.queue)
      if (mayBegin() && waiting.size === 0) begin(row)
      else late.push(row)
    }
    hold(late)
    if (isWindingDown) waiting.sendBack(() => true)
    beginWaiting()
  }

  function isTooLate({ lease_ends_at: leaseEndsAt, lease_ms: leaseMs }: ClaimedRow): boolean {
    return !hasTimeLeft({ leaseEndsAt, leaseMs }, clock.now())
  }

  /**
   * A process that dies counts as a failure of what waits too: whose last it would be waits shortest.
   * What has a slot, and waits for the next turn only, keeps its place.
   */
  function hold(rows: readonly ClaimedRow[]): void {
    const slotted = Math.max(0, concurrency - active.size - waiting.size)
    const behind = rows.slice(slotted)
    for (const row of rows.slice(0, slotted)) waiting.hold(row)
    for (const row of behind) if (isLastChance(row)) waiting.hold(row)
    for (const row of behind) if (!isLastChance(row)) waiting.hold(row)
  }

  function beginWaiting(): void {
    // A handler that ends at once gives its slot back while the loop goes on.
    if (isBeginning) return
    isBeginning = true
    while (mayBegin()) {
      const row = waiting.next()
      if (row === undefined) break
      begin(row)
    }
    isBeginning = false
  }

  function mayBegin(): boolean {
    return active.size < concurrency && room.mayBegin
  }

  function begin(row: ClaimedRow): void {
    const handled = kinds.get(row.kind)
    if (handled === undefined) return
    const run = makeRun(row, handled, context)
    active.add(run)
    roster.add(run)
    keeper.noticed(run)
    news.began(run)
    room.began(run.beganAt)
    open += 1
    options.ahead.began(run.beganAt)
    inOwnContext(beginApart, run)
  }

  function onEnd(run: ActiveRun, end: RunEnd): void {
    options.ahead.ended(run.beganAt)
    run.isEnded = true
    active.remove(run)
    observers.get(run)?.(end)
    slots.give(run.kind, run.queue)
    beginWaiting()
    options.onSlotGiven()
    if (end.type === 'fate') endings.write(run, end, onWritten)
    else onWritten(run, end.type === 'settled')
    if (end.type === 'settled') news.endedItself(run)
  }

  function onWritten(run: ActiveRun, isApplied: boolean): void {
    roster.remove(run)
    if (isApplied) news.settled(run)
    else lostNotice(run)
    options.onWritten()
    closed()
  }

  /** In a resource of its own: `enterWith` writes into the one it meets. */
  function beginApart(run: ActiveRun): void {
    const apart = new AsyncResource('millrace.run')
    if (runChannel.start.hasSubscribers) apart.runInAsyncScope(beginObserved, undefined, run)
    else void apart.runInAsyncScope(run.begin, run)
  }

  /** The run as one operation of the diagnostics channel, from its begin to its decision. */
  function beginObserved(run: ActiveRun): void {
    const { id: job, run: number, kind, queue } = run
    const facts = { origin: executor.origin, id: job, run: number, kind, queue, worker }
    const decided = new Promise<RunEnd>((resolve) => {
      observers.set(run, resolve)
    })
    void runChannel.tracePromise(() => {
      void run.begin()
      return decided
    }, facts)
  }

  function handBack(rows: readonly ClaimedRow[]): void {
    for (const back of endings.handBack(rows)) {
      open += 1
      void back.then(closed)
    }
  }

  function closed(): void {
    open -= 1
    if (open === 0) allClosed?.()
  }

  function lostNotice({ id: job, run, kind }: Pick<ActiveRun, 'id' | 'run' | 'kind'>): void {
    const message = 'a run lost its lease; what it did is not recorded'
    notice({
      origin: executor.origin,
      level: 'warn',
      message,
      facts: { worker, job, run, kind },
    })
  }

  return {
    take,
    handBack,
    sendBack: waiting.sendBack,
    windDown() {
      isWindingDown = true
      waiting.sendBack(() => true)
      const reason = new ShutdownError()
      for (const run of active.all()) run.abort(reason)
    },
    releaseAll() {
      for (const run of active.all()) run.release()
    },
    ended: () =>
      new Promise((resolve) => {
        allClosed = resolve
        if (open === 0) resolve()
      }),
  }
}
