import { dateFrom } from '../core/instant-text.ts'
import type { ScheduleRow } from './statements.ts'
import { UTC } from './timing.ts'
import type { Timing } from './timing.ts'

/**
 * How many of the boundaries that were missed while no worker ran get a job: none (`'skip'`), the
 * latest one (`'last'`), or the latest ones up to a number.
 */
export type CatchUp = 'skip' | 'last' | { readonly all: number }

/** A schedule as it stands. */
export interface ScheduleRecord {
  readonly name: string
  readonly kind: string
  readonly queue: string
  readonly cron: string | null
  readonly everyMs: number | null
  readonly timezone: string
  readonly catchUp: CatchUp
  readonly overlap: 'allow' | 'skip'
  /** Null while it is paused. */
  readonly nextFireAt: Date | null
  /** The boundary that was fired last, or when it was run by hand. */
  readonly lastFireAt: Date | null
  /** The job of the last fire, or the one that it was merged into. */
  readonly lastJobId: string | null
  readonly paused: boolean
}

export function recordOf(row: ScheduleRow): ScheduleRecord {
  return {
    name: row.schedule,
    kind: row.kind,
    queue: row.queue,
    cron: row.cron,
    everyMs: row.every_ms,
    timezone: row.timezone ?? UTC,
    catchUp: catchUpOf(row.catch_up),
    overlap: row.skips_overlap ? 'skip' : 'allow',
    nextFireAt: row.paused_at === null ? dateOrNull(row.next_fire_at) : null,
    lastFireAt: dateOrNull(row.last_fire_at),
    lastJobId: row.last_job_id,
    paused: row.paused_at !== null,
  }
}

export function timingOf({ cron, timezone, every_ms: everyMs }: ScheduleRow): Timing {
  return cron === null
    ? { type: 'every', everyMs: everyMs ?? 1 }
    : { type: 'cron', cron, timezone: timezone ?? UTC }
}

function catchUpOf(most: number): CatchUp {
  if (most === 0) return 'skip'
  return most === 1 ? 'last' : { all: most }
}

function dateOrNull(at: number | null): Date | null {
  return at === null ? null : dateFrom(at)
}
