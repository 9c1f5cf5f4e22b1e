import { MillraceError, shown } from '../errors.ts'

/** There is no schedule of this name. */
export class UnknownScheduleError extends MillraceError {
  readonly code = 'UNKNOWN_SCHEDULE'
  readonly schedule: string

  constructor(schedule: string) {
    super(
      `there is no schedule ${shown(schedule)}; see schedules.list(), or register it with mill.schedule()`,
    )
    this.schedule = schedule
  }
}
