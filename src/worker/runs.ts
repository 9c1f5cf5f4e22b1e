import { notice, runChannel } from '../core/telemetry.ts'
import type { Executor } from '../database/executor.ts'
import { ShutdownError } from '../errors.ts'
import { isLastChance } from './ahead.ts'
import type { Ahead } from './ahead.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { Ending } from './ending.ts'
import { startRun } from './execute.ts'
import type { ActiveRun, RunEnd } from './execute.ts'
import type { LeaseKeeper } from './lease.ts'
import { line } from './line.ts'
import type { News } from './news.ts'
import type { WorkerSetup } from './options.ts'
import type { Roster } from './roster.ts'
import type { RunServices } from './run-for.ts'
import type { Slots } from './slots.ts'

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
  const active = new Set<ActiveRun>()
  const finishing = new Set<Promise<void>>()
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
    const late: ClaimedRow[] = []
    for (const row of rows) {
      // A failover that forgot a claim brings the same run number again: it is under way here already.
      if (roster.has(row.job_id, row.run)) continue
      if (!kinds.has(row.kind)) {
        handBack([row])
        continue
      }
      slots.take(row.kind, row.queue)
      if (active.size < concurrency && waiting.size === 0) begin(row)
      else late.push(row)
    }
    hold(late)
    beginWaiting()
  }

  /** A process that dies counts as a failure of what waits too: whose last it would be waits shortest. */
  function hold(rows: readonly ClaimedRow[]): void {
    for (const row of rows) if (isLastChance(row)) waiting.hold(row)
    for (const row of rows) if (!isLastChance(row)) waiting.hold(row)
  }

  function beginWaiting(): void {
    while (active.size < concurrency) {
      const row = waiting.next()
      if (row === undefined) return
      begin(row)
    }
  }

  function begin(row: ClaimedRow): void {
    const handled = kinds.get(row.kind)
    if (handled === undefined) return
    const run = startRun(row, handled, { clock, services, failures })
    active.add(run)
    roster.add(run)
    keeper.noticed(run)
    news.began(run)
    track(finish(run, options.ahead.began()))
  }

  async function finish(run: ActiveRun, ended: () => void): Promise<void> {
    const end = await observed(run)
    ended()
    run.isEnded = true
    active.delete(run)
    slots.give(run.kind, run.queue)
    beginWaiting()
    options.onSlotGiven()
    const applied = end.type === 'fate' ? await endings.write(run, end) : end.type === 'settled'
    roster.remove(run)
    if (end.type === 'settled') news.endedItself(run)
    if (applied) news.settled(run)
    else lostNotice(run)
    options.onWritten()
  }

  function observed(run: ActiveRun): Promise<RunEnd> {
    if (!runChannel.start.hasSubscribers) return run.end
    const { id: job, run: number, kind, queue } = run
    const facts = { origin: executor.origin, id: job, run: number, kind, queue, worker }
    return runChannel.tracePromise(() => run.end, facts)
  }

  function handBack(rows: readonly ClaimedRow[]): void {
    for (const back of endings.handBack(rows)) track(back)
  }

  function track(work: Promise<void>): void {
    finishing.add(work)
    void work.finally(() => finishing.delete(work))
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
      waiting.sendBack(() => true)
      const reason = new ShutdownError()
      for (const run of active) run.abort(reason)
    },
    releaseAll() {
      for (const run of active) run.release()
    },
    async ended() {
      while (finishing.size > 0) await Promise.all(finishing)
    },
  }
}
