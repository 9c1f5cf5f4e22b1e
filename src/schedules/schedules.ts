import { arrayText } from '../core/array-text.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { UnknownScheduleError } from './schedule-errors.ts'
import type { EnqueueResult } from '../jobs/job.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { Firing } from './fire.ts'
import type { ScheduleOptions } from './options.ts'
import { preview } from './preview.ts'
import { recordOf } from './record.ts'
import type { ScheduleRecord } from './record.ts'
import { prepareSchedule, register } from './register.ts'
import type { Registering } from './register.ts'
import { resume } from './resume.ts'
import { runNow } from './run-now.ts'
import { getSchedule, listSchedules, pauseSchedule } from './statements.ts'
import { pruneSchedules, removeSchedule, undeclaredSchedules } from './statements.ts'
import type { ScheduleRow } from './statements.ts'

/** What people see of schedules, and decide about them. Workers follow within a second. */
export interface Schedules {
  /** All of them, by name. */
  list(): Promise<readonly ScheduleRecord[]>
  /**
   * The next boundaries, 5 where no count is given, 1 000 at most; of a paused one those that it would
   * have if it were resumed now. Throws `UnknownScheduleError`.
   *
   * @example
   * await mill.schedules.next('totals', 3)
   */
  next(name: string, count?: number): Promise<readonly Date[]>
  /** It fires no more, from now on. Registering it again does not resume it. Throws `UnknownScheduleError`. */
  pause(name: string): Promise<void>
  /** Fires again from the next boundary after now; what came by is not made up for. Throws `UnknownScheduleError`. */
  resume(name: string): Promise<void>
  /** Jobs that it fired stay. Answers whether there was one. */
  remove(name: string): Promise<boolean>
  /**
   * Enqueues its job now, paused or not, beside its boundaries; the job's `schedule.boundary` is the
   * instant of the call, or the first after it that is no boundary. Throws `UnknownScheduleError`.
   *
   * @example
   * const { id } = await mill.schedules.runNow('totals')
   */
  runNow(name: string): Promise<EnqueueResult>
  /**
   * Removes every schedule that is not declared, so that those that were taken out of the code do
   * not fire for ever. Answers the names of what it removed. Where several applications share a
   * namespace, let the names of each begin alike, and give that as `prefix`: others stay. With
   * `dryRun` it only looks.
   *
   * @example
   * const declared = await Promise.all([
   *   mill.schedule('billing/dunning', { cron: '0 6 * * *', kind: dun }),
   *   mill.schedule('billing/sweep', { every: '1h', kind: sweep }),
   * ])
   * const names = declared.map(({ name }) => name)
   * await mill.schedules.prune(names, { prefix: 'billing/' })
   */
  prune(declared: Iterable<string>, options?: PruneOptions): Promise<readonly string[]>
}

export interface PruneOptions {
  /** Only schedules whose names begin with this. Default all. */
  prefix?: string | undefined
  dryRun?: boolean | undefined
}

/** The part of a client that has to do with schedules. */
export interface SchedulesParts {
  readonly schedules: Schedules
  schedule<K extends JobKind>(name: string, options: ScheduleOptions<K>): Promise<ScheduleRecord>
}

export type SchedulesOptions = Registering & Omit<Firing, 'kinds'>

export function schedulesOf(options: SchedulesOptions): SchedulesParts {
  const { executor, runner, announce } = options
  // For their merge functions, when one of them is run by hand here.
  const kinds = new Map<string, JobKind>()

  async function rowOf(schedule: string): Promise<ScheduleRow> {
    const [row] = await runner().run(getSchedule, { schedule })
    if (row === undefined) throw new UnknownScheduleError(schedule)
    return row
  }

  return {
    async schedule(name, given) {
      const registration = await prepareSchedule(name, given, options)
      kinds.set(given.kind.name, given.kind)
      return recordOf(await register(registration, options))
    },
    schedules: {
      async list() {
        return (await runner().run(listSchedules, {})).map(recordOf)
      },
      async next(name, count = 5) {
        const most = readCount(count)
        return preview(await rowOf(checkName('schedule', name)), most, executor.clock.now())
      },
      async pause(name) {
        const schedule = checkName('schedule', name)
        const paused = await runner().run(pauseSchedule, { schedule, announce })
        if (paused.length === 0) throw new UnknownScheduleError(schedule)
      },
      resume: (name) => resume(() => rowOf(checkName('schedule', name)), options),
      async remove(name) {
        const schedule = checkName('schedule', name)
        return (await runner().run(removeSchedule, { schedule, announce })).length > 0
      },
      runNow: (name) => runNow(() => rowOf(checkName('schedule', name)), { ...options, kinds }),
      async prune(declared, given = {}) {
        const { dryRun, ...which } = readPrune(declared, given)
        const removed = dryRun
          ? await runner().run(undeclaredSchedules, which)
          : await runner().run(pruneSchedules, { ...which, announce })
        return removed.map(({ schedule }) => schedule).toSorted()
      },
    },
  }
}

const MOST_SHOWN = 1_000

function readCount(count: unknown): number {
  if (typeof count === 'number' && Number.isInteger(count) && count <= MOST_SHOWN) {
    return Math.max(0, count)
  }
  throw new InvalidOptionError('count', count, `give a whole number up to ${MOST_SHOWN}.`)
}

function readPrune(
  declared: Iterable<string>,
  options: PruneOptions,
): { readonly declared: string; readonly prefix: string; readonly dryRun: boolean } {
  checkOptions('prune()', options, ['prefix', 'dryRun'])
  const { prefix = '', dryRun = false } = options
  if (typeof prefix !== 'string' || prefix.includes('\u0000')) {
    throw new InvalidOptionError('prefix', prefix, 'give the text that the names begin with.')
  }
  // A text is an iterable too, of its letters: then nothing would be declared.
  if (typeof declared === 'string') {
    throw new InvalidOptionError('declared', declared, 'give a list of all names, like [name].')
  }
  const names = [...declared].map((name) => checkName('schedule', name))
  return { declared: arrayText(names), prefix, dryRun }
}
