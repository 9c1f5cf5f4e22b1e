import { milliseconds } from '../core/duration.ts'
import type { Duration } from '../core/duration.ts'
import type { StreamDefinition } from '../core/event-producer.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { checkFrom } from './position.ts'
import type { From } from './position.ts'
import { sourceOf } from './stream.ts'

export interface SubscribeOptions {
  /** The name of the consumer: its offset is kept under it, and one process at a time reads in it. */
  as: string
  /** Where a consumer begins that has saved nothing yet; one that has goes on there. Default with the first event. */
  from?: From | undefined
  /** Where events were trimmed before they were read: `EventsTrimmedError` (default), or go on behind them. */
  onTrimmed?: 'throw' | 'skip' | undefined
  /** An event that the schema refuses: `InvalidEventError` (default), or pass over it. */
  onInvalid?: 'throw' | 'skip' | undefined
  /** How long the name is held without a renewal: what a crash costs. At most 24 days. Default `'30s'`. */
  lease?: Duration | undefined
  /** Ends the reading, as `close` does. */
  signal?: AbortSignal | undefined
}

export interface ConsumeOptions extends SubscribeOptions {
  /** At most so many events in one batch. Default 100, at most 10 000. */
  limit?: number | undefined
}

/** Options checked and resolved. */
export interface ReaderSetup {
  readonly stream: StreamDefinition
  readonly as: string
  readonly from: From
  readonly leaseMs: number
  readonly onTrimmed: 'throw' | 'skip'
  readonly onInvalid: 'throw' | 'skip'
  readonly signal: AbortSignal | undefined
}

const LEASE = 30_000
// The longest timer.
const LONGEST_LEASE = 24 * 86_400_000
const LIMIT = 100
const LARGEST = 10_000
const OPTIONS = ['as', 'from', 'onTrimmed', 'onInvalid', 'lease', 'signal']

export function subscribeSetup(stream: StreamDefinition, options: SubscribeOptions): ReaderSetup {
  checkOptions('subscribe()', options, OPTIONS)
  return readerSetup(stream, options)
}

export function consumeSetup(
  stream: StreamDefinition,
  options: ConsumeOptions & { readonly transaction?: unknown },
): ReaderSetup & { readonly limit: number } {
  checkOptions('consume()', options, [...OPTIONS, 'limit', 'transaction'])
  return { ...readerSetup(stream, options), limit: limitOption(options.limit) }
}

function readerSetup(stream: StreamDefinition, options: SubscribeOptions): ReaderSetup {
  const { as, from, onTrimmed, onInvalid, lease, signal } = options
  sourceOf(stream)
  return {
    stream,
    as: checkName('consumer', as),
    from: checkFrom(from),
    leaseMs: lease === undefined ? LEASE : milliseconds('lease', lease, { max: LONGEST_LEASE }),
    onTrimmed: onTrimmedOption(onTrimmed),
    onInvalid: onInvalidOption(onInvalid),
    signal,
  }
}

export function onTrimmedOption(value: unknown): 'throw' | 'skip' {
  return throwOrSkip('onTrimmed', value)
}

export function onInvalidOption(value: unknown): 'throw' | 'skip' {
  return throwOrSkip('onInvalid', value)
}

function throwOrSkip(option: string, value: unknown = 'throw'): 'throw' | 'skip' {
  if (value === 'throw' || value === 'skip') return value
  throw new InvalidOptionError(option, value, "pass 'throw' or 'skip'")
}

function limitOption(limit: unknown = LIMIT): number {
  const isCount = typeof limit === 'number' && Number.isInteger(limit)
  if (isCount && limit > 0 && limit <= LARGEST) return limit
  throw new InvalidOptionError('limit', limit, `pass a whole number from 1 to ${LARGEST}`)
}
