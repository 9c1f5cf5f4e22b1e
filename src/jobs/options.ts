import { milliseconds } from '../core/duration.ts'
import type { Duration } from '../core/duration.ts'
import { instant } from '../core/instant.ts'
import type { OptionsRead } from '../core/names.ts'
import { checkOptions } from '../core/names.ts'
import type { OneOf } from '../core/one-of.ts'
import { InvalidOptionError } from '../errors.ts'
import type { Definition } from './definition.ts'
import type { InputOf, JobKind, StampedOptions } from './kind.ts'
import { definitionOf } from './definition.ts'
import type { Policy } from './policy.ts'
import { DEFAULT_POLICY, encodePolicy } from './policy.ts'
import type { DefaultsOf } from './queue-defaults.ts'
import type { Settings } from './stamped-options.ts'
import { readOption, readOptions, STAMPED_OPTIONS } from './stamped-options.ts'

/**
 * Options of one enqueue, before those of the kind: values only; `delay` or `at`, but not both. An
 * instant that has passed means now.
 *
 * @example
 * await mill.enqueue(welcome, { userId }, { delay: '5m', priority: 'high' })
 */
export type EnqueueOptions = StampedOptions & {
  /** A ULID of your own: the same id again is a no-op while a record of it exists. Default: one is made. */
  id?: string | undefined
  /** The key of this ask, in place of the kind's own. */
  dedup?: string | undefined
} & OneOf<{ delay?: Duration | undefined } | { at?: Date | undefined }>

/** `enqueue(kind)` for kinds without input, `enqueue(kind, input)` for the rest. */
export type InputArgs<K extends JobKind, Options> =
  undefined extends InputOf<K>
    ? [input?: InputOf<K>, options?: Options]
    : [input: InputOf<K>, options?: Options]

/** Everything that is stamped on a job beside its id and payload. Instants in epoch milliseconds. */
export interface Stamp {
  readonly queue: string
  readonly priority: number
  readonly leaseMs: number
  /** Of these two at most one is not null. */
  readonly expiresAfterMs: number | null
  readonly expiresAt: number | null
  /** Of these two at most one is not null; neither means due now. */
  readonly delayMs: number | null
  readonly at: number | null
  readonly policy: Policy
  /** What of the policy differs from the defaults: the text to store. */
  readonly policyText: string | null
}

/** What a job is stamped with where neither call nor kind says anything. */
export const DEFAULT_QUEUE = 'default'
const DEFAULT_PRIORITY = 5

/**
 * Resolves the options of one job: call over kind over queue over engine default (E3). Functions of the kind
 * get the parsed input; what they throw is the caller's. Throws `InvalidOptionError` or
 * `InvalidNameError` for everything unknown or out of range.
 */
export function stampOptions(
  kind: JobKind,
  input: unknown,
  { call, defaultsOf = NO_DEFAULTS }: StampContext,
): Stamp {
  const definition = definitionOf(kind)
  const given = checkOptions('enqueue()', call, ENQUEUE_OPTIONS)
  const isPlain = definition.derived.length === 0 && Object.keys(given).length === 0
  return isPlain
    ? plainStamp(definition, defaultsOf)
    : stampFrom(
        definition,
        { ...derivedFrom(definition, input), ...readOptions(given) },
        {
          given,
          defaultsOf,
        },
      )
}

export interface StampContext {
  readonly call: EnqueueOptions
  /** What the queues say. Default nothing. */
  readonly defaultsOf?: DefaultsOf | undefined
}

const NO_DEFAULTS: DefaultsOf = () => undefined

// Most calls say nothing of their own, and then all jobs of a kind have one stamp, as long as their
// queue says the same.
const plainStamps = new WeakMap<Definition, PlainStamp>()

interface PlainStamp {
  readonly stamp: Stamp
  readonly defaults: Settings | undefined
}

function plainStamp(definition: Definition, defaultsOf: DefaultsOf): Stamp {
  const defaults = defaultsOf(definition.settings.queue ?? DEFAULT_QUEUE)
  const known = plainStamps.get(definition)
  if (known !== undefined && known.defaults === defaults) return known.stamp
  const stamp = stampFrom(definition, {}, { given: {}, defaultsOf })
  plainStamps.set(definition, { stamp, defaults })
  return stamp
}

function stampFrom(
  definition: Definition,
  nearer: Settings,
  { given, defaultsOf }: { readonly given: OptionsRead; readonly defaultsOf: DefaultsOf },
): Stamp {
  const own = { ...definition.settings, ...nearer }
  const queue = own.queue ?? DEFAULT_QUEUE
  const settings = { ...defaultsOf(queue), ...own }
  const policy = policyFrom(settings)
  const { delayMs, at } = timingFrom(given)
  return {
    queue,
    priority: settings.priority ?? DEFAULT_PRIORITY,
    leaseMs: policy.leaseMs,
    expiresAfterMs: settings.expiresAfterMs ?? null,
    expiresAt: settings.expiresAt ?? null,
    delayMs,
    at,
    policy,
    policyText: encodePolicy(policy),
  }
}

const ENQUEUE_OPTIONS: readonly string[] = ['id', 'dedup', 'delay', 'at', ...STAMPED_OPTIONS]

function derivedFrom(definition: Definition, input: unknown): Settings {
  const settings: Settings = {}
  for (const { option, from } of definition.derived) {
    const value = from(input)
    if (value !== undefined) Object.assign(settings, readOption(option, value))
  }
  return settings
}

function policyFrom(settings: Settings): Policy {
  const { keep } = DEFAULT_POLICY
  return {
    failures: settings.failures ?? DEFAULT_POLICY.failures,
    backoff: settings.backoff ?? DEFAULT_POLICY.backoff,
    leaseMs: settings.leaseMs ?? DEFAULT_POLICY.leaseMs,
    timeoutMs: settings.timeoutMs ?? DEFAULT_POLICY.timeoutMs,
    keep: {
      completed: unlessGiven(settings.keepCompleted, keep.completed),
      cancelled: unlessGiven(settings.keepCancelled, keep.cancelled),
      dead: unlessGiven(settings.keepDead, keep.dead),
    },
  }
}

/** Null is a value here: for ever. */
function unlessGiven(given: number | null | undefined, usual: number | null): number | null {
  return given === undefined ? usual : given
}

function timingFrom({ delay, at }: OptionsRead): Pick<Stamp, 'delayMs' | 'at'> {
  if (delay !== undefined && at !== undefined) {
    throw new InvalidOptionError('delay', delay, 'there is an `at` too. Give one of them.')
  }
  return {
    delayMs: delay === undefined ? null : milliseconds('delay', delay, { zero: true }),
    at: at === undefined ? null : instant('at', at),
  }
}
