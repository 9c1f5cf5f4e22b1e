import { instantText } from '../core/instant-text.ts'
import { DatabaseError } from '../errors.ts'
import { timingOf } from './record.ts'
import type { Registering } from './register.ts'
import { resumeSchedule } from './statements.ts'
import type { ScheduleRow } from './statements.ts'
import { boundaryAfter } from './timing.ts'

/**
 * Ends a pause, at the first boundary after now. That is computed from the row, so a row that
 * changed meanwhile is looked at again (M3); one that is not paused stays as it is.
 */
export async function resume(
  look: () => Promise<ScheduleRow>,
  { executor, runner, announce }: Pick<Registering, 'executor' | 'runner' | 'announce'>,
): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const row = await look()
    if (row.paused_at === null) return
    const now = executor.clock.now()
    const next = boundaryAfter(timingOf(row), now, row.next_fire_at ?? now)
    const resumed = await runner().run(resumeSchedule, {
      schedule: row.schedule,
      revision: row.revision,
      next_fire_at: next === null ? null : instantText(next),
      announce,
    })
    if (resumed.length > 0) return
  }
  throw new DatabaseError('the schedule changed each time it was to be resumed. Try again.', {
    sqlstate: null,
    statement: resumeSchedule.name,
    retryable: true,
    outcomeUnknown: false,
  })
}

const MOST_TRIES = 10
