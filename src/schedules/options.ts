import type { Duration } from '../core/duration.ts'
import { checkOptions } from '../core/names.ts'
import type { OptionsRead } from '../core/names.ts'
import type { OneOf } from '../core/one-of.ts'
import { InvalidOptionError } from '../errors.ts'
import type { InputOf, JobKind, StampedOptions } from '../jobs/kind.ts'
import type { EnqueueOptions } from '../jobs/options.ts'
import { STAMPED_OPTIONS } from '../jobs/stamped-options.ts'
import type { CatchUp } from './record.ts'
import { readTiming } from './timing.ts'
import type { Timing } from './timing.ts'

/**
 * What `mill.schedule` takes: when, what, and the options of its jobs as for `enqueue`.
 *
 * - `cron`: 5 fields (minute hour day month weekday) or 6 with seconds first; lists, ranges, steps,
 *   names and `L`; in `timezone`, an IANA name, default UTC.
 * - `every`: that long after the registration, and so on; at least 100 ms.
 */
export type ScheduleOptions<K extends JobKind> = OneOf<
  { cron: string; timezone?: string | undefined } | { every: Duration }
> &
  Omit<StampedOptions, 'expires'> & {
    kind: K
    /** A job not begun by then is dead: a duration from its fire. Default never. */
    expires?: Duration | undefined
    /** The key of its jobs, in place of the kind's own. */
    dedup?: string | undefined
    /**
     * How many of the boundaries that came by while no worker ran get a job: none (`'skip'`; one that is
     * at most 10 s late still does), the latest (`'last'`, the default), or the latest ones up to a
     * number from 1 to 1 000.
     */
    catchUp?: CatchUp | undefined
    /** `'skip'`: it does not fire while its last job lives, pending or running. Default `'allow'`. */
    overlap?: 'allow' | 'skip' | undefined
  } & (undefined extends InputOf<K>
    ? { input?: NoInfer<InputOf<K>> }
    : { input: NoInfer<InputOf<K>> })

/** The options checked and resolved, but for what the kind makes of them. */
export interface ScheduleSettings {
  readonly timing: Timing
  /** Anything: whether it is a kind is looked at when its ask is prepared. */
  readonly input: unknown
  readonly stamped: EnqueueOptions
  readonly catchUp: number
  readonly skipsOverlap: boolean
}

/** Throws `InvalidOptionError` for everything unknown or out of range, in a bounded time. */
export function readScheduleOptions(options: object): ScheduleSettings {
  const given = checkOptions('schedule()', options, KNOWN)
  return {
    timing: readTiming(given),
    input: given['input'],
    stamped: stampedIn(given),
    catchUp: readCatchUp(given['catchUp']),
    skipsOverlap: readOverlap(given['overlap']),
  }
}

const OF_JOBS: readonly string[] = ['dedup', ...STAMPED_OPTIONS]
const KNOWN: readonly string[] = [
  'cron',
  'every',
  'timezone',
  'kind',
  'input',
  'catchUp',
  'overlap',
  ...OF_JOBS,
]
const MOST_CAUGHT_UP = 1_000

function stampedIn(given: OptionsRead): EnqueueOptions {
  if (given['expires'] instanceof Date) throw noInstant(given['expires'])
  // Checked when the ask is prepared, as those of enqueue are.
  return Object.fromEntries(OF_JOBS.map((option) => [option, given[option]]))
}

/** For a kind whose own option is an instant, too. */
export function noInstant(value: unknown): InvalidOptionError {
  return new InvalidOptionError(
    'expires',
    value,
    'for a schedule it is a duration from the fire. An instant would end all later jobs at once.',
  )
}

function readCatchUp(catchUp: unknown): number {
  if (catchUp === undefined || catchUp === 'last') return 1
  if (catchUp === 'skip') return 0
  if (typeof catchUp === 'object' && catchUp !== null) {
    return readAll(checkOptions('catchUp', catchUp, ['all'])['all'])
  }
  throw new InvalidOptionError('catchUp', catchUp, "give 'skip', 'last' or { all: 10 }")
}

function readAll(all: unknown): number {
  if (typeof all === 'number' && Number.isInteger(all) && all >= 1 && all <= MOST_CAUGHT_UP) {
    return all
  }
  throw new InvalidOptionError(
    'catchUp.all',
    all,
    `give a whole number from 1 to ${MOST_CAUGHT_UP}, or 'skip' for none.`,
  )
}

function readOverlap(overlap: unknown): boolean {
  if (overlap === undefined || overlap === 'allow') return false
  if (overlap === 'skip') return true
  throw new InvalidOptionError('overlap', overlap, "give 'allow' or 'skip'")
}
