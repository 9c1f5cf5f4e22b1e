import { milliseconds } from '../core/duration.ts'
import { checkKey, checkOptions } from '../core/names.ts'
import type { OptionsRead } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'

/** How asks of one key meet, checked and flat. */
export type DedupMode =
  | { readonly type: 'pending' }
  | { readonly type: 'live'; readonly rerun: boolean }
  | { readonly type: 'throttle'; readonly windowMs: number }
  | { readonly type: 'debounce'; readonly windowMs: number; readonly atMostMs: number | null }

/** The `dedup` of a kind: where the key comes from, and the mode. */
export interface DedupRule {
  readonly key: string | ((input: unknown) => unknown)
  readonly mode: DedupMode
}

/** How a key that only the call gives meets others. */
export const PENDING: DedupMode = { type: 'pending' }

/** Checks the `dedup` option of a kind. Throws `InvalidOptionError` or `InvalidNameError`. */
export function readDedup(value: unknown): DedupRule {
  if (isKeySource(value)) return { key: keySource(value), mode: PENDING }
  const given = checkOptions('dedup', value, [
    'key',
    'scope',
    'rerun',
    'throttle',
    'debounce',
    'atMost',
  ])
  if (!isKeySource(given['key'])) {
    throw new InvalidOptionError(
      'dedup.key',
      given['key'],
      'give a text, or a function of the input',
    )
  }
  return { key: keySource(given['key']), mode: readMode(given) }
}

/** The key of one ask: of the call, else of the kind; null for none. */
export function keyOf(rule: DedupRule | null, input: unknown, call: unknown): string | null {
  if (call !== undefined) return checkKey('dedup key', call)
  if (rule === null) return null
  const key = typeof rule.key === 'string' ? rule.key : rule.key(input)
  return key === undefined ? null : checkKey('dedup key', key)
}

function readMode(given: OptionsRead): DedupMode {
  const { scope, rerun, throttle, debounce, atMost } = given
  const ways = [scope, throttle, debounce].filter((way) => way !== undefined)
  if (ways.length > 1) {
    throw new InvalidOptionError('dedup', given, 'give one of scope, throttle and debounce')
  }
  if (rerun !== undefined && scope !== 'live') {
    throw new InvalidOptionError('dedup.rerun', rerun, "it goes with scope: 'live'")
  }
  if (atMost !== undefined && debounce === undefined) {
    throw new InvalidOptionError('dedup.atMost', atMost, 'it goes with debounce')
  }
  if (throttle !== undefined) {
    return { type: 'throttle', windowMs: milliseconds('dedup.throttle', throttle) }
  }
  if (debounce !== undefined) {
    return {
      type: 'debounce',
      windowMs: milliseconds('dedup.debounce', debounce),
      atMostMs: atMost === undefined ? null : milliseconds('dedup.atMost', atMost),
    }
  }
  return readScope(scope, rerun)
}

function readScope(scope: unknown, rerun: unknown): DedupMode {
  if (scope === undefined || scope === 'pending') return PENDING
  if (scope !== 'live') {
    throw new InvalidOptionError('dedup.scope', scope, "give 'pending' or 'live'")
  }
  if (rerun !== undefined && typeof rerun !== 'boolean') {
    throw new InvalidOptionError('dedup.rerun', rerun, 'give true or false')
  }
  return { type: 'live', rerun: rerun === true }
}

function isKeySource(value: unknown): value is DedupRule['key'] {
  return typeof value === 'string' || typeof value === 'function'
}

function keySource(source: DedupRule['key']): DedupRule['key'] {
  return typeof source === 'string' ? checkKey('dedup key', source) : source
}
