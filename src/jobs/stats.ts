import type { Clock } from '../core/clock.ts'
import { dateFrom, instantText } from '../core/instant-text.ts'
import type { Runner } from '../database/executor.ts'
import { jobStats } from './stats-statements.ts'
import type { StatsRow } from './stats-statements.ts'

/** How many; `exact: false` means at least so many. */
export interface Count {
  readonly value: number
  readonly exact: boolean
}

/** What there is of one queue and kind. Each pending job counts once: as due, or for why it is not. */
export interface QueueStats {
  readonly queue: string
  readonly kind: string
  /** A worker may claim them now, if the queue is open. */
  readonly due: Count
  /** Due later, and not for one of the next two reasons. */
  readonly scheduled: Count
  /** Due later, after a failure or a lost worker. */
  readonly retrying: Count
  /** Due later, after a pause of their own. */
  readonly paused: Count
  readonly running: number
  /** Whose record is still kept. */
  readonly dead: Count
  /** Since when the oldest due job waits; null when none does. */
  readonly oldestDueAt: Date | null
  /** What clients counted in the last minute, ten seconds late at most: runs that completed and failed, jobs enqueued. */
  readonly perMinute: {
    readonly completed: number
    readonly failed: number
    readonly enqueued: number
  }
}

/** Everything at one instant. */
export interface Stats {
  readonly at: Date
  readonly total: Omit<QueueStats, 'queue' | 'kind'>
  /** In the order of queue and kind; those of which there is anything. */
  readonly queues: readonly QueueStats[]
  /** Seen within the last minute; how many were busy is as old as that. */
  readonly workers: {
    readonly alive: number
    readonly slots: number
    readonly busy: number
  }
}

/** A worker not seen for so long is taken for gone: twice as long as between two of its signs. */
export const ALIVE_FOR = 120_000
const ROLLED_FOR = 60_000

export async function readStats(runner: Runner, clock: Clock): Promise<Stats> {
  const now = clock.now()
  const rows = await runner.run(jobStats, {
    rolled_after: instantText(now - ROLLED_FOR),
    alive_after: instantText(now - ALIVE_FOR),
    now: instantText(now),
  })
  const queues = rows.flatMap(queueIn)
  const [{ alive, slots, busy } = { alive: 0, slots: 0, busy: 0 }] = rows
  return { at: dateFrom(now), total: totalOf(queues), queues, workers: { alive, slots, busy } }
}

function queueIn(row: StatsRow): readonly QueueStats[] {
  const { queue, kind, running, completed, failed, enqueued } = row
  if (queue === null || kind === null) return []
  const later = (value: number): Count => ({ value, exact: !row.has_more_waiting })
  return [
    {
      queue,
      kind,
      due: { value: row.due, exact: !row.has_more_due },
      scheduled: later(row.scheduled),
      retrying: later(row.retrying),
      paused: later(row.paused),
      running,
      dead: { value: row.dead, exact: !row.has_more_dead },
      oldestDueAt: row.oldest_due_at === null ? null : dateFrom(row.oldest_due_at),
      perMinute: { completed, failed, enqueued },
    },
  ]
}

function totalOf(queues: readonly QueueStats[]): Stats['total'] {
  const sum = (of: (each: QueueStats) => number): number =>
    queues.reduce((total, each) => total + of(each), 0)
  const count = (of: (each: QueueStats) => Count): Count => ({
    value: sum((each) => of(each).value),
    exact: queues.every((each) => of(each).exact),
  })
  return {
    due: count(({ due }) => due),
    scheduled: count(({ scheduled }) => scheduled),
    retrying: count(({ retrying }) => retrying),
    paused: count(({ paused }) => paused),
    running: sum(({ running }) => running),
    dead: count(({ dead }) => dead),
    oldestDueAt: oldest(queues),
    perMinute: {
      completed: sum(({ perMinute }) => perMinute.completed),
      failed: sum(({ perMinute }) => perMinute.failed),
      enqueued: sum(({ perMinute }) => perMinute.enqueued),
    },
  }
}

function oldest(queues: readonly QueueStats[]): Date | null {
  const instants = queues.flatMap(({ oldestDueAt }) => oldestDueAt?.getTime() ?? [])
  return instants.length === 0 ? null : dateFrom(Math.min(...instants))
}
