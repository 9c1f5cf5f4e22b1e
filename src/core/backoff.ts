import { InvalidOptionError } from '../errors.ts'
import type { Duration } from './duration.ts'
import { milliseconds } from './duration.ts'
import { halvesOf } from './id-halves.ts'
import { checkOptions } from './names.ts'

/**
 * How long a job waits after its n-th failure: `fixed` base · `linear` base × n · `exponential`
 * base × factorⁿ⁻¹ · `fibonacci` base × (fib(n) − 1), so that the first two follow at once. Never
 * longer than `cap`, then shortened by up to the share `jitter`.
 *
 * Defaults: base `'1s'`, factor 2, cap `'1h'` (or the base, if that is longer), jitter 0.5.
 *
 * @example
 * defineJob('charge', { retry: { backoff: { type: 'exponential', base: '10s', cap: '30m' } } })
 */
export type Backoff =
  | BackoffType
  | {
      type: 'fixed' | 'linear' | 'fibonacci'
      base?: Duration | undefined
      cap?: Duration | undefined
      jitter?: number | undefined
    }
  | {
      type: 'exponential'
      base?: Duration | undefined
      factor?: number | undefined
      cap?: Duration | undefined
      jitter?: number | undefined
    }

export type BackoffType = 'fixed' | 'linear' | 'exponential' | 'fibonacci'

/** A backoff with everything decided. */
export interface Curve {
  readonly type: BackoffType
  readonly baseMs: number
  /** Of `exponential`; the others do not use it. */
  readonly factor: number
  readonly capMs: number
  readonly jitter: number
}

export const BACKOFF_TYPES: readonly BackoffType[] = ['fixed', 'linear', 'exponential', 'fibonacci']

export const DEFAULT_CURVE: Curve = Object.freeze({
  type: 'exponential',
  baseMs: 1_000,
  factor: 2,
  capMs: 3_600_000,
  jitter: 0.5,
})

/** Checks a `Backoff`, whatever was given; undefined is the default. Throws `InvalidOptionError`. */
export function resolveBackoff(backoff: unknown): Curve {
  if (backoff === undefined) return DEFAULT_CURVE
  if (typeof backoff === 'string') return { ...DEFAULT_CURVE, type: checkType('', backoff) }
  const given = checkOptions('retry.backoff', backoff, ['type', 'base', 'factor', 'cap', 'jitter'])
  const type = checkType('.type', given['type'])
  const baseMs = millisecondsOr('base', given['base'], DEFAULT_CURVE.baseMs)
  const capMs = millisecondsOr('cap', given['cap'], Math.max(baseMs, DEFAULT_CURVE.capMs))
  if (capMs < baseMs) {
    throw new InvalidOptionError(
      'retry.backoff.cap',
      given['cap'],
      `it is shorter than the base, ${baseMs} ms. Raise it, or lower the base.`,
    )
  }
  return {
    type,
    baseMs,
    factor: checkFactor(type, given['factor']),
    capMs,
    jitter: checkJitter(given['jitter']),
  }
}

/**
 * Milliseconds (not always whole) to wait after failure number `failures` (1, 2, …) of the job `id`.
 * The jitter is a function of both, so that it is the same wherever it is computed, and different
 * for jobs that failed together.
 */
export function retryDelay(curve: Curve, id: string, failures: number): number {
  const full = Math.min(fullDelay(curve, failures), curve.capMs)
  return full * (1 - curve.jitter * (1 - fraction(id, failures)))
}

function fullDelay(curve: Curve, failures: number): number {
  switch (curve.type) {
    case 'fixed':
      return curve.baseMs
    case 'linear':
      return curve.baseMs * failures
    case 'exponential':
      return curve.baseMs * curve.factor ** (failures - 1)
    case 'fibonacci':
      return curve.baseMs * (fibonacci(failures, curve.capMs / curve.baseMs + 1) - 1)
  }
}

/** fib(n) with fib(1) = fib(2) = 1, counted no further than `enough`. */
function fibonacci(n: number, enough: number): number {
  let [previous, current] = [0, 1]
  for (let step = 1; step < n && current <= enough; step += 1) {
    ;[previous, current] = [current, previous + current]
  }
  return current
}

/** In [0, 1), from the id and n: the top 53 bits of sm(hi ⊕ sm(lo ⊕ n)). */
function fraction(id: string, n: number): number {
  const { hi, lo } = halvesOf(id)
  const mixed = splitMix64(hi ^ splitMix64(lo ^ BigInt(n)))
  return Number(mixed >> 11n) / 2 ** 53
}

/** One step of SplitMix64, on 64 bits. */
export function splitMix64(x: bigint): bigint {
  let z = BigInt.asUintN(64, x + 0x9e3779b97f4a7c15n)
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
  return z ^ (z >> 31n)
}

function checkType(member: '' | '.type', value: unknown): BackoffType {
  const type = BACKOFF_TYPES.find((each) => each === value)
  if (type !== undefined) return type
  throw new InvalidOptionError(
    `retry.backoff${member}`,
    value,
    `there are ${BACKOFF_TYPES.join(', ')}. Take one of them.`,
  )
}

function millisecondsOr(member: string, value: unknown, fallback: number): number {
  return value === undefined ? fallback : milliseconds(`retry.backoff.${member}`, value)
}

function checkFactor(type: BackoffType, value: unknown): number {
  if (value === undefined) return DEFAULT_CURVE.factor
  if (type !== 'exponential') {
    throw new InvalidOptionError(
      'retry.backoff.factor',
      value,
      `${type} has no factor. Leave it out, or take exponential.`,
    )
  }
  if (typeof value === 'number' && value >= 1 && Number.isFinite(value)) return value
  throw new InvalidOptionError('retry.backoff.factor', value, 'give a number, 1 or more.')
}

function checkJitter(value: unknown): number {
  if (value === undefined) return DEFAULT_CURVE.jitter
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw new InvalidOptionError(
    'retry.backoff.jitter',
    value,
    'it is the share of the delay that may be taken off. Give a number from 0 (none) to 1.',
  )
}
