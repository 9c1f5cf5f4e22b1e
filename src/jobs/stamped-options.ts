import type { Curve } from '../core/backoff.ts'
import { resolveBackoff } from '../core/backoff.ts'
import { milliseconds } from '../core/duration.ts'
import { instant } from '../core/instant.ts'
import type { OptionsRead } from '../core/names.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import type { StampedOptions } from './kind.ts'

/**
 * The options that are stamped on a job, checked and flat. One source (a call, a kind) gives some of
 * them; laid over each other, the nearest source wins member by member (E3): a call that says
 * `retry: { failures: 3 }` keeps the backoff of the kind.
 */
export interface Settings {
  readonly queue?: string
  readonly priority?: number
  readonly leaseMs?: number
  /** Of these two exactly one is a number; both come from the same source. */
  readonly expiresAfterMs?: number | null
  readonly expiresAt?: number | null
  readonly failures?: number
  readonly backoff?: Curve
  readonly timeoutMs?: number
  /** How long the record is kept; null is for ever. */
  readonly keepCompleted?: number | null
  readonly keepCancelled?: number | null
  readonly keepDead?: number | null
}

export type StampedOption = keyof StampedOptions

/** Checks one option, whatever was given. Throws `InvalidOptionError` or `InvalidNameError`. */
export function readOption(option: StampedOption, value: unknown): Settings {
  return READERS[option](value)
}

/** Checks those of the options that are there; a member that is undefined is not. */
export function readOptions(given: OptionsRead): Settings {
  const settings: Settings = {}
  for (const option of STAMPED_OPTIONS) {
    const value = given[option]
    if (value !== undefined) Object.assign(settings, readOption(option, value))
  }
  return settings
}

const READERS: Readonly<Record<StampedOption, (value: unknown) => Settings>> = {
  queue: (value) => ({ queue: checkName('queue', value) }),
  priority: (value) => ({ priority: readPriority(value) }),
  retry: readRetry,
  lease: (value) => ({ leaseMs: milliseconds('lease', value, { max: LONGEST_RUN }) }),
  timeout: (value) => ({ timeoutMs: milliseconds('timeout', value, { max: LONGEST_RUN }) }),
  expires: readExpires,
  keep: readKeep,
}

export const STAMPED_OPTIONS: readonly StampedOption[] = [
  'queue',
  'priority',
  'retry',
  'lease',
  'timeout',
  'expires',
  'keep',
]

// Timers hold 2³¹ ms, a little over 24 days.
const LONGEST_RUN = 24 * 86_400_000

const LEVELS: ReadonlyMap<unknown, number> = new Map([
  ['high', 2],
  ['normal', 5],
  ['low', 8],
])

function readPriority(value: unknown): number {
  const level = LEVELS.get(value)
  if (level !== undefined) return level
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 9) {
    return value
  }
  throw new InvalidOptionError(
    'priority',
    value,
    "give 'high', 'normal' or 'low', or a whole number from 0 (first) to 9 (last).",
  )
}

function readRetry(value: unknown): Settings {
  const { failures, backoff } = checkOptions('retry', value, ['failures', 'backoff'])
  return {
    ...(failures === undefined ? {} : { failures: readFailures(failures) }),
    ...(backoff === undefined ? {} : { backoff: resolveBackoff(backoff) }),
  }
}

const MOST_FAILURES = 1_000_000

function readFailures(value: unknown): number {
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 1 &&
    value <= MOST_FAILURES
  ) {
    return value
  }
  throw new InvalidOptionError(
    'retry.failures',
    value,
    `the job is dead at this failure. Give a whole number from 1 (a single run) to ${MOST_FAILURES}.`,
  )
}

function readExpires(value: unknown): Settings {
  return value instanceof Date
    ? { expiresAfterMs: null, expiresAt: instant('expires', value) }
    : { expiresAfterMs: milliseconds('expires', value), expiresAt: null }
}

function readKeep(value: unknown): Settings {
  const keep = checkOptions('keep', value, ['completed', 'cancelled', 'dead'])
  const { completed, cancelled, dead } = keep
  return {
    ...(completed === undefined ? {} : { keepCompleted: readKept('keep.completed', completed) }),
    ...(cancelled === undefined ? {} : { keepCancelled: readKept('keep.cancelled', cancelled) }),
    ...(dead === undefined ? {} : { keepDead: readKept('keep.dead', dead) }),
  }
}

function readKept(option: string, value: unknown): number | null {
  return value === 'forever' ? null : milliseconds(option, value, { zero: true })
}
