import { instantText } from '../core/instant-text.ts'
import { makeId } from '../core/id.ts'
import type { Executor, Lane, Runner } from '../database/executor.ts'
import { limitLockWait } from '../database/lock-wait.ts'
import { DatabaseError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import type { EnqueueResult } from '../jobs/job.ts'
import { askOf } from './fired-ask.ts'
import type { KnownKinds } from './fired-ask.ts'
import { beginFire, fireSchedules, markFire } from './fire-statements.ts'
import type { BegunRow, FiredRow, FireRow } from './fire-statements.ts'
import { planFire } from './missed.ts'
import { timingOf } from './record.ts'
import type { ScheduleRow } from './statements.ts'

/**
 * Fires schedules: moves them on, guarded by what was seen of them, and enqueues their jobs in the
 * same commit. Whoever is slower misses and changes nothing, so any number of workers may try.
 */
export interface Firing {
  readonly executor: Executor
  readonly hintUntil: () => string
  /** Writes an ask with a key on a transaction. */
  readonly write: (runner: Runner, ask: Ask) => Promise<EnqueueResult>
  /** The kinds whose merge functions are at hand. */
  readonly kinds: KnownKinds
  /** A merge that failed, after which the job is one of its own. Default: whoever fires is told. */
  readonly onRefused?: ((error: unknown) => void) | undefined
}

/** What is to be done about a schedule that is due. */
export function dueFire(row: ScheduleRow, now: number): FireRow {
  const nextFireAt = row.next_fire_at ?? now
  const { catch_up: catchUp, skips_overlap: skipsOverlap } = row
  const { boundaries, next } = planFire(
    { timing: timingOf(row), nextFireAt, catchUp, skipsOverlap },
    now,
  )
  return {
    schedule: row.schedule,
    revision: row.revision,
    expected: instantText(nextFireAt),
    next: next === null ? null : instantText(next),
    is_manual: false,
    asks: boundaries.map((at) => ({ id: makeId(now), boundary: instantText(at) })),
  }
}

/** Those without a key, in one statement. Gives what moved on. */
export async function firePlain(
  fires: readonly FireRow[],
  lane: Lane,
  { executor, hintUntil }: Firing,
): Promise<readonly FiredRow[]> {
  const rows = await lane.run(fireSchedules, {
    fires: JSON.stringify(fires),
    hint_until: hintUntil(),
  })
  for (const { id, kind, queue } of rows) {
    if (id !== null) executor.events.tell('created', { id, kind, queue })
  }
  return rows
}

/**
 * One with a key, in a transaction: its asks may meet a job, and then each is merged as any other
 * ask. Undefined: somebody else has it. The answers are those of its asks.
 */
export function fireKeyed(
  fire: FireRow,
  firing: Firing,
): Promise<readonly EnqueueResult[] | undefined> {
  return firing.executor.lane('fire keyed').transaction(async (runner) => {
    await runner.run(limitLockWait, {})
    const rows = await runner.run(beginFire, { fires: JSON.stringify([fire]) })
    if (rows.length === 0) return undefined
    const results: EnqueueResult[] = []
    for (const row of rows.filter(hasAsk).toSorted((a, b) => a.boundary - b.boundary)) {
      const result = await written(row, runner, firing)
      await runner.run(markFire, {
        schedule: row.schedule,
        boundary: instantText(row.boundary),
        asked: row.id,
        job_id: result.id,
      })
      results.push(result)
    }
    return results
  })
}

// No asker is there to be told what a merge function threw, and the boundary must not be lost by it.
async function written(row: AskedRow, runner: Runner, firing: Firing): Promise<EnqueueResult> {
  const { write, kinds, onRefused } = firing
  try {
    return await write(runner, await askOf(row, kinds))
  } catch (error) {
    if (error instanceof DatabaseError || onRefused === undefined) throw error
    onRefused(error)
    return write(runner, await askOf({ ...row, merge: 'independent' }, kinds))
  }
}

type AskedRow = BegunRow & { readonly id: string; readonly boundary: number }

function hasAsk(row: BegunRow): row is AskedRow {
  return row.id !== null && row.boundary !== null
}
