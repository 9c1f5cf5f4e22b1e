import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Curve } from '../../src/core/backoff.ts'
import {
  BACKOFF_TYPES,
  DEFAULT_CURVE,
  resolveBackoff,
  retryDelay,
  splitMix64,
} from '../../src/core/backoff.ts'
import { makeId } from '../../src/core/id.ts'
import { InvalidOptionError } from '../../src/errors.ts'

const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

const VECTORS = [
  0, 0, 438515485, 595825921, 1808880654, 2829662570, 5955584865, 9002853397, 13857432316,
  22691770922, 23777093159, 60793264479, 71334115131, 88141141020,
]

test.each(VECTORS.map((nanoseconds, index) => [index + 1, nanoseconds] as const))(
  '§5: after failure %d the vector of the fibonacci curve is %d whole ns',
  (failures, nanoseconds) => {
    const curve = resolveBackoff({ type: 'fibonacci', base: 500, cap: '120s', jitter: 0.5 })
    expect(Math.floor(retryDelay(curve, ID, failures) * 1e6)).toBe(nanoseconds)
  },
)

test('§5: SplitMix64(0)', () => {
  expect(splitMix64(0n)).toBe(16294208416658607535n)
})

test.each<[Curve['type'], readonly number[]]>([
  ['fixed', [100, 100, 100, 100, 100]],
  ['linear', [100, 200, 300, 400, 450]],
  ['exponential', [100, 300, 450, 450, 450]],
  ['fibonacci', [0, 0, 100, 200, 400]],
])('§5: %s without jitter, capped', (type, delays) => {
  const curve: Curve = { type, baseMs: 100, factor: 3, capMs: 450, jitter: 0 }
  expect(delays.map((_, index) => retryDelay(curve, ID, index + 1))).toEqual(delays)
})

describe('§5: for every curve, job and number of failures', () => {
  const curves = fc.record({
    type: fc.constantFrom(...BACKOFF_TYPES),
    baseMs: fc.integer({ min: 1, max: 1e9 }),
    factor: fc.double({ min: 1, max: 1e6, noNaN: true }),
    capMs: fc.integer({ min: 1e9, max: 3e12 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const failures = fc.integer({ min: 1, max: 1_000_000 })
  const ids = fc.integer({ min: 0, max: 2 ** 47 }).map((now) => makeId(now))

  test('the delay is in [d(1 − f), d] and never beyond the cap', () => {
    fc.assert(
      fc.property(curves, ids, failures, (curve, id, n) => {
        const full = retryDelay({ ...curve, jitter: 0 }, id, n)
        const delay = retryDelay(curve, id, n)
        expect(full).toBeLessThanOrEqual(curve.capMs)
        expect(delay).toBeLessThanOrEqual(full)
        expect(delay).toBeGreaterThanOrEqual(full * (1 - curve.jitter))
        expect(retryDelay(curve, id, n)).toBe(delay)
      }),
    )
  })

  test('jitter spreads jobs that failed together over the whole share', () => {
    const curve = resolveBackoff({ type: 'fixed', base: 1_000, jitter: 0.5 })
    const delays = Array.from({ length: 2_000 }, () => retryDelay(curve, makeId(1), 1))
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
    expect(Math.min(...delays)).toBeLessThan(510)
    expect(Math.max(...delays)).toBeGreaterThan(990)
    expect(Math.abs(mean - 750)).toBeLessThan(20)
  })

  test('what overflows saturates at the cap', () => {
    for (const type of ['linear', 'exponential', 'fibonacci'] as const) {
      const curve: Curve = { type, baseMs: 1e9, factor: 1e6, capMs: 3e12, jitter: 0 }
      expect(retryDelay(curve, ID, 1_000_000)).toBe(3e12)
    }
  })
})

describe('resolveBackoff', () => {
  test('§12: the default is exponential, 1 s × 2, at most 1 h, jitter 0.5', () => {
    expect(resolveBackoff(undefined)).toEqual({
      type: 'exponential',
      baseMs: 1_000,
      factor: 2,
      capMs: 3_600_000,
      jitter: 0.5,
    })
  })

  test('a word is the curve with the other defaults', () => {
    expect(resolveBackoff('linear')).toEqual({ ...DEFAULT_CURVE, type: 'linear' })
  })

  test('the default cap is never below the base', () => {
    expect(resolveBackoff({ type: 'fixed', base: '2h' }).capMs).toBe(7_200_000)
  })

  test.each([
    ['slow', '"retry.backoff" got "slow"'],
    [5, '"retry.backoff" got 5'],
    [null, 'it takes an object of: type, base'],
    [{}, '"retry.backoff.type" got undefined'],
    [{ type: 'constant' }, 'fixed, linear, exponential, fibonacci. Take one of them.'],
    [{ type: 'fixed', base: 0 }, '"retry.backoff.base" got 0'],
    [{ type: 'fixed', base: '2h', cap: '1h' }, 'shorter than the base'],
    [{ type: 'fixed', factor: 2 }, 'fixed has no factor'],
    [{ type: 'exponential', factor: 0.5 }, '1 or more'],
    [{ type: 'exponential', factor: NaN }, '1 or more'],
    [{ type: 'exponential', factor: Infinity }, '1 or more'],
    [{ type: 'fixed', jitter: 1.1 }, 'from 0 (none) to 1'],
    [{ type: 'fixed', jitter: -0.1 }, 'from 0 (none) to 1'],
    [{ type: 'exponential', delay: 1_000 }, 'Use base.'],
  ])('refuses %j', (backoff, message) => {
    expect(() => resolveBackoff(backoff)).toThrow(InvalidOptionError)
    expect(() => resolveBackoff(backoff)).toThrow(message)
  })
})
