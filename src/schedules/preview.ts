import { timingOf } from './record.ts'
import type { ScheduleRow } from './statements.ts'
import { boundaryAfter } from './timing.ts'

/** The boundaries to come, the one that is due now, or should have been fired, among them. */
export function preview(row: ScheduleRow, count: number, now: number): readonly Date[] {
  const timing = timingOf(row)
  const phase = row.next_fire_at ?? now
  let at = row.paused_at === null ? row.next_fire_at : boundaryAfter(timing, now, phase)
  const found: Date[] = []
  while (at !== null && found.length < count) {
    found.push(new Date(at))
    at = boundaryAfter(timing, at, phase)
  }
  return found
}
