import { isId, makeId } from '../core/id.ts'
import { InvalidOptionError } from '../errors.ts'
import { encodeInput, parseInput } from './input.ts'
import type { JobKind } from './kind.ts'
import { keyOf, PENDING } from './dedup.ts'
import type { DedupMode } from './dedup.ts'
import type { Definition } from './definition.ts'
import { definitionOf } from './definition.ts'
import type { EnqueueOptions, Stamp } from './options.ts'
import { stampOptions } from './options.ts'
import type { KnownDefaults } from './queue-defaults.ts'

/** One job as the enqueue statement takes it: checked, encoded, with everything decided but `now`. */
export interface Ask extends Stamp {
  readonly id: string
  /**
   * The caller gave the id, so that a job may have it already, also in a transaction that is still
   * open. Nobody else can have one that was made here.
   */
  readonly hasGivenId: boolean
  readonly kind: string
  /** JSON text of what was given. */
  readonly payload: string
  /** Null: the ask has no key. */
  readonly keyed: Keyed | null
}

/** What an ask with a key brings beside: enough to merge it with the job it meets. */
export interface Keyed {
  readonly key: string
  readonly mode: DedupMode
  readonly definition: Definition
  /** As the schema gave the input back. */
  readonly parsed: unknown
}

export interface AskContext {
  readonly options: EnqueueOptions
  /** For the id; epoch milliseconds. */
  readonly now: number
  /** In bytes of UTF-8. */
  readonly maxPayload: number
  /** What the queues say where neither call nor kind does. Default nothing. */
  readonly queues?: KnownDefaults | undefined
}

/**
 * Turns a call of enqueue into an ask, all of it before any I/O. Answers at once where the schema is
 * synchronous, so that asks of one tick go together and in order. The input is encoded first: it is
 * what was given at the call, whatever a schema or the caller does to it later.
 *
 * Throws, or rejects with, `InvalidInputError`, `PayloadTooLargeError`, `InvalidOptionError` or
 * `InvalidNameError`, or what a function among the kind's options threw.
 */
export function prepareAsk(kind: JobKind, input: unknown, context: AskContext): Ask | Promise<Ask> {
  const definition = definitionOf(kind)
  const payload = encodeInput(definition, input, context.maxPayload)
  const parsed = parseInput(definition, input)
  return parsed instanceof Promise ? parsed.then(ask) : ask(parsed)

  // Checked with what is known of the queues, before any I/O, and stamped anew if that was too old.
  function ask(value: unknown): Ask | Promise<Ask> {
    const stamp = stampFor(value)
    const stale = context.queues?.fresh()
    if (stale === undefined) return askFrom(stamp, value)
    return stale.then(() => askFrom(stampFor(value), value))
  }

  function stampFor(value: unknown): Stamp {
    const { options: call, queues } = context
    return stampOptions(kind, value, { call, defaultsOf: queues?.defaultsOf })
  }

  function askFrom(stamp: Stamp, value: unknown): Ask {
    const { options } = context
    const keyed = keyedFrom(definition, value, options.dedup)
    const hasGivenId = options.id !== undefined
    // The spread last: in front of members it takes 3 µs, behind them 0.2.
    return { id: idFrom(context), hasGivenId, kind: definition.name, payload, keyed, ...stamp }
  }
}

function keyedFrom(definition: Definition, parsed: unknown, call: unknown): Keyed | null {
  const key = keyOf(definition.dedup, parsed, call)
  if (key === null) return null
  return { key, mode: definition.dedup?.mode ?? PENDING, definition, parsed }
}

function idFrom({ options, now }: AskContext): string {
  const { id } = options
  if (id === undefined) return makeId(now)
  if (isId(id)) return id
  throw new InvalidOptionError(
    'id',
    id,
    'an id is a ULID in canonical text, 26 characters in upper case. Leave it out to have one made.',
  )
}
