import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BACKOFF_TYPES } from '../../src/core/backoff.ts'
import type { Policy } from '../../src/jobs/policy.ts'
import { decodePolicy, DEFAULT_POLICY, encodePolicy } from '../../src/jobs/policy.ts'

const policies: fc.Arbitrary<Policy> = fc.record({
  failures: fc.constantFrom(10, 1, 25),
  backoff: fc.record({
    type: fc.constantFrom(...BACKOFF_TYPES),
    baseMs: fc.constantFrom(1_000, 1, 250),
    factor: fc.constantFrom(2, 1.5),
    capMs: fc.constantFrom(3_600_000, 1_000),
    jitter: fc.constantFrom(0.5, 0, 1),
  }),
  leaseMs: fc.constantFrom(60_000, 1),
  timeoutMs: fc.constantFrom(null, 1, 60_000),
  keep: fc.record({
    completed: fc.constantFrom(DEFAULT_POLICY.keep.completed, null, 0),
    cancelled: fc.constantFrom(DEFAULT_POLICY.keep.cancelled, null, 1),
    dead: fc.constantFrom(DEFAULT_POLICY.keep.dead, null, 0),
  }),
})

test('every policy comes back as it was', () => {
  fc.assert(
    fc.property(policies, (policy) => {
      expect(decodePolicy(encodePolicy(policy))).toEqual(policy)
    }),
  )
})

test('the defaults are stored as nothing', () => {
  expect(encodePolicy(DEFAULT_POLICY)).toBeNull()
  expect(encodePolicy(structuredClone(DEFAULT_POLICY))).toBeNull()
  expect(decodePolicy(null)).toBe(DEFAULT_POLICY)
})

test('§12: the defaults are part of the stored format and do not change', () => {
  expect(DEFAULT_POLICY).toEqual({
    failures: 10,
    backoff: { type: 'exponential', baseMs: 1_000, factor: 2, capMs: 3_600_000, jitter: 0.5 },
    leaseMs: 60_000,
    timeoutMs: null,
    keep: { completed: 604_800_000, cancelled: 604_800_000, dead: 2_592_000_000 },
  })
})

test('only what differs is stored', () => {
  const policy: Policy = {
    ...DEFAULT_POLICY,
    failures: 3,
    backoff: { ...DEFAULT_POLICY.backoff, jitter: 0 },
    keep: { ...DEFAULT_POLICY.keep, dead: null },
  }
  expect(encodePolicy(policy)).toBe('{"failures":3,"backoff":{"jitter":0},"keep":{"dead":null}}')
})

describe('a policy that cannot be read leaves the job able to run', () => {
  test.each([
    ['', {}],
    ['{', {}],
    ['[]', {}],
    ['null', {}],
    ['5', {}],
    ['{"failures":"many","keep":7,"backoff":"linear"}', {}],
    [
      '{"backoff":{"type":"sudden","baseMs":5}}',
      { backoff: { ...DEFAULT_POLICY.backoff, baseMs: 5 } },
    ],
    ['{"failures":3,"later":true}', { failures: 3 }],
  ])('%j', (text, expected) => {
    expect(decodePolicy(text)).toEqual({ ...DEFAULT_POLICY, ...expected })
  })
})
