import { makeId } from '../core/id.ts'
import { instantText } from '../core/instant-text.ts'
import { DatabaseError } from '../errors.ts'
import type { EnqueueResult } from '../jobs/job.ts'
import { fireKeyed, firePlain } from './fire.ts'
import type { Firing } from './fire.ts'
import { awaitSchedule, fireSchedules } from './fire-statements.ts'
import type { FireRow } from './fire-statements.ts'
import { timingOf } from './record.ts'
import type { ScheduleRow } from './statements.ts'
import { boundaryUntil } from './timing.ts'

/**
 * Fires a schedule by hand, beside its boundaries: the job's boundary is an instant that is none of
 * them, so that it never stands in the way of one that is still to be fired. A schedule that is
 * being fired at this moment is waited for, and looked at again.
 */
export async function runNow(
  look: () => Promise<ScheduleRow>,
  firing: Firing,
): Promise<EnqueueResult> {
  const { executor } = firing
  let at = executor.clock.now()
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const row = await look()
    at = besideBoundaries(row, at)
    const results = await fire(row, manualFire(row, at), firing)
    if (results?.[0] !== undefined) return results[0]
    // Taken by another call of the same millisecond, or held by a fire, or changed.
    if (results !== undefined) at += 1
    else await executor.lane('read').run(awaitSchedule, { schedule: row.schedule })
  }
  throw new DatabaseError(
    'the schedule was being fired or changed each time it was to be run. Try again.',
    { sqlstate: null, statement: fireSchedules.name, retryable: true, outcomeUnknown: false },
  )
}

const MOST_TRIES = 100

function manualFire({ schedule, revision }: ScheduleRow, at: number): FireRow {
  const asks = [{ id: makeId(at), boundary: instantText(at) }]
  return { schedule, revision, expected: null, next: null, is_manual: true, asks }
}

/** No answer: somebody else holds the schedule. An empty one: the instant is taken. */
async function fire(
  row: ScheduleRow,
  manual: FireRow,
  firing: Firing,
): Promise<readonly EnqueueResult[] | undefined> {
  if (row.dedup_key !== null) return fireKeyed(manual, firing)
  const [fired] = await firePlain([manual], firing.executor.lane('read'), firing)
  if (fired === undefined) return undefined
  const { id } = fired
  return id === null ? [] : [{ id, outcome: 'inserted', asked: id }]
}

function besideBoundaries(row: ScheduleRow, from: number): number {
  const timing = timingOf(row)
  let at = from
  while (boundaryUntil(timing, at, row.next_fire_at ?? from - 1) === at) at += 1
  return at
}
