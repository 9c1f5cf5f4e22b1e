import type { Clock } from '../core/clock.ts'
import { instantText } from '../core/instant-text.ts'
import type { JobEventName, JobEvents, ToldJob } from '../core/job-events.ts'
import type { Lane } from '../database/executor.ts'
import { DatabaseError } from '../errors.ts'
import { appendRollups, pruneRollups } from './rollup-statements.ts'
import type { RollupRow } from './rollup-statements.ts'

/**
 * How much was done, for `stats()`: a client counts what it did in memory and appends the sums ten
 * seconds after the first of them, and when it closes. So a job costs one addition, whatever the
 * rate, and a process that dies loses the counts of at most ten seconds. Nobody decides by them.
 */
export interface Rollups {
  /** Appends what was counted, and counts no more. Never rejects: the counts are not worth it. */
  close(): Promise<void>
}

export interface RollupsOptions {
  readonly clock: Clock
  readonly events: JobEvents
  /** Where to append: on a connection that the client has anyway. */
  readonly lane: () => Lane
}

const FLUSH_EVERY = 10_000
const KEPT_FOR = 3_600_000

export function rollups({ clock, events, lane }: RollupsOptions): Rollups {
  let counts: CountsByQueue = new Map()
  let cancelTimer: (() => void) | undefined
  let flushing: Promise<void> = Promise.resolve()
  let isClosed = false

  // For every job: two looks into maps and an addition, nothing made.
  const unhear = events.hear((event, job) => {
    const counted = countedAs(event, job)
    if (counted === undefined) return
    countsOf(job.queue, job.kind)[counted] += 1
    cancelTimer ??= clock.after(FLUSH_EVERY, flush)
  })

  function countsOf(queue: string, kind: string): Counts {
    const known = counts.get(queue)?.get(kind)
    if (known !== undefined) return known
    const made: Counts = { enqueued: 0, completed: 0, failed: 0 }
    const kinds = counts.get(queue) ?? new Map<string, Counts>()
    counts.set(queue, kinds.set(kind, made))
    return made
  }

  function flush(): void {
    cancelTimer = undefined
    const taken = rowsOf(counts)
    counts = new Map()
    flushing = flushing.then(() => append(taken))
  }

  async function append(rows: readonly RollupRow[]): Promise<void> {
    try {
      await lane().run(appendRollups, { rollups: JSON.stringify(rows) })
    } catch (error) {
      // Where they may have been appended they would count twice.
      if (error instanceof DatabaseError && error.outcomeUnknown) return
      for (const row of rows) {
        const sums = countsOf(row.queue, row.kind)
        sums.enqueued += row.enqueued
        sums.completed += row.completed
        sums.failed += row.failed
      }
      cancelTimer ??= isClosed ? undefined : clock.after(FLUSH_EVERY, flush)
    }
  }

  return {
    async close() {
      unhear()
      isClosed = true
      cancelTimer?.()
      if (counts.size > 0) flush()
      await flushing
    },
  }
}

/** Removes what is older than an hour; gives how many. */
export async function forgetRollups(lane: Lane, clock: Clock, most: number): Promise<number> {
  const before = instantText(clock.now() - KEPT_FOR)
  const [row] = await lane.run(pruneRollups, { before, most })
  return row?.pruned ?? 0
}

interface Counts {
  enqueued: number
  completed: number
  failed: number
}

type CountsByQueue = Map<string, Map<string, Counts>>

/** A job that died without a run did not fail: it expired. */
function countedAs(event: JobEventName, { worker }: ToldJob): keyof Counts | undefined {
  switch (event) {
    case 'created':
      return 'enqueued'
    case 'completed':
      return 'completed'
    case 'retried':
    case 'recovered':
      return 'failed'
    case 'dead':
      return worker === undefined ? undefined : 'failed'
    default:
      return undefined
  }
}

function rowsOf(counts: CountsByQueue): readonly RollupRow[] {
  return [...counts].flatMap(([queue, kinds]) =>
    [...kinds].map(([kind, sums]) => ({ queue, kind, ...sums })),
  )
}
