import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { DEFAULT_CURVE } from '../../src/core/backoff.ts'
import { InvalidNameError, InvalidOptionError } from '../../src/errors.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import type { JobKind } from '../../src/jobs/kind.ts'
import type { EnqueueOptions, Stamp } from '../../src/jobs/options.ts'
import { stampOptions as stamped } from '../../src/jobs/options.ts'
import { DEFAULT_POLICY } from '../../src/jobs/policy.ts'

const DAY = 86_400_000
const plain = defineJob('plain')

function stampOptions(kind: JobKind, input: unknown, call: EnqueueOptions): Stamp {
  return stamped(kind, input, { call })
}

test('§12: the defaults', () => {
  expect(stampOptions(plain, undefined, {})).toEqual({
    queue: 'default',
    priority: 5,
    leaseMs: 60_000,
    expiresAfterMs: null,
    expiresAt: null,
    delayMs: null,
    at: null,
    policy: {
      failures: 10,
      backoff: { type: 'exponential', baseMs: 1_000, factor: 2, capMs: 3_600_000, jitter: 0.5 },
      leaseMs: 60_000,
      timeoutMs: null,
      keep: { completed: 7 * DAY, cancelled: 7 * DAY, dead: 30 * DAY },
    },
    policyText: null,
  })
})

describe('E3: call over kind over default', () => {
  const kind = defineJob('kind', {
    queue: 'mail',
    priority: 'low',
    retry: { failures: 3, backoff: { type: 'fixed', base: '5s' } },
    lease: '10s',
    timeout: '1m',
    expires: '1d',
    keep: { completed: '1h', dead: 'forever' },
  })

  test('the kind speaks where the call is silent', () => {
    expect(stampOptions(kind, undefined, {})).toMatchObject({
      queue: 'mail',
      priority: 8,
      leaseMs: 10_000,
      expiresAfterMs: DAY,
      policy: {
        failures: 3,
        backoff: { type: 'fixed', baseMs: 5_000 },
        leaseMs: 10_000,
        timeoutMs: 60_000,
        keep: { completed: 3_600_000, cancelled: 7 * DAY, dead: null },
      },
    })
  })

  test('the call wins, member by member', () => {
    const stamp = stampOptions(kind, undefined, {
      queue: 'slow',
      priority: 0,
      retry: { failures: 7 },
      lease: '2m',
      keep: { dead: 0 },
    })
    expect(stamp).toMatchObject({ queue: 'slow', priority: 0, leaseMs: 120_000 })
    expect(stamp.policy).toMatchObject({
      failures: 7,
      backoff: { type: 'fixed', baseMs: 5_000 },
      timeoutMs: 60_000,
      keep: { completed: 3_600_000, cancelled: 7 * DAY, dead: 0 },
    })
  })

  test('a backoff of the call replaces that of the kind as a whole', () => {
    const { policy } = stampOptions(kind, undefined, { retry: { backoff: 'linear' } })
    expect(policy).toMatchObject({ failures: 3, backoff: { ...DEFAULT_CURVE, type: 'linear' } })
  })

  test('undefined in the call is silence', () => {
    const options = { queue: undefined, retry: undefined, delay: undefined, expires: undefined }
    expect(stampOptions(kind, undefined, options)).toEqual(stampOptions(kind, undefined, {}))
  })

  test('an instant of the call replaces a duration of the kind, and the other way round', () => {
    const until = new Date('2030-01-01T00:00:00Z')
    expect(stampOptions(kind, undefined, { expires: until })).toMatchObject({
      expiresAfterMs: null,
      expiresAt: until.getTime(),
    })
    const dated = defineJob('dated', { expires: until })
    expect(stampOptions(dated, undefined, { expires: '1h' })).toMatchObject({
      expiresAfterMs: 3_600_000,
      expiresAt: null,
    })
  })
})

describe('options that are functions of the input', () => {
  const kind = defineJob('derived', {
    input: z.object({ size: z.string().transform(Number) }),
    queue: ({ size }) => (size > 100 ? 'large' : undefined),
    timeout: ({ size }) => size * 1_000,
    retry: ({ size }) => ({ failures: size }),
  })

  test('get the parsed input', () => {
    const stamp = stampOptions(kind, { size: 200 }, {})
    expect(stamp).toMatchObject({ queue: 'large', policy: { timeoutMs: 200_000, failures: 200 } })
  })

  test('leave the option to the default by answering undefined', () => {
    expect(stampOptions(kind, { size: 5 }, {}).queue).toBe('default')
  })

  test('give way to the call', () => {
    expect(stampOptions(kind, { size: 200 }, { queue: 'small' }).queue).toBe('small')
  })

  test('are checked like values', () => {
    expect(() => stampOptions(kind, { size: 0 }, {})).toThrow('"retry.failures" got 0')
  })

  test('throw at the producer', () => {
    const fault = new Error('no tenant')
    const broken = defineJob('broken', {
      queue: () => {
        throw fault
      },
    })
    expect(() => stampOptions(broken, undefined, {})).toThrow(fault)
  })

  test('may not be asynchronous: the answer is no name', () => {
    const slow: object = { queue: async () => 'mail' }
    const kindOfSlow = Reflect.apply(defineJob, undefined, ['slow', slow])
    expect(() => stampOptions(kindOfSlow, undefined, {})).toThrow(InvalidNameError)
  })
})

test.each([
  ['high', 2],
  ['normal', 5],
  ['low', 8],
  [0, 0],
  [9, 9],
] as const)('priority %s is level %d', (priority, level) => {
  expect(stampOptions(plain, undefined, { priority }).priority).toBe(level)
})

describe('E4: when', () => {
  test('delay is a duration, 0 too; at is an instant, a past one too', () => {
    expect(stampOptions(plain, undefined, { delay: '5m' })).toMatchObject({
      delayMs: 300_000,
      at: null,
    })
    expect(stampOptions(plain, undefined, { delay: 0 }).delayMs).toBe(0)
    expect(stampOptions(plain, undefined, { at: new Date(-5) })).toMatchObject({
      delayMs: null,
      at: -5,
    })
  })

  test.each<[object, string]>([
    [{ delay: '5m', at: new Date(0) }, 'there is an `at` too. Give one of them.'],
    [{ delay: -1 }, 'cannot be negative'],
    [{ at: new Date(NaN) }, 'option "at" got "Invalid Date"'],
    [{ at: 1_700_000_000 }, 'an instant is a Date'],
    [{ at: '2030-01-01' }, 'an instant is a Date'],
    [{ expires: 0 }, '"expires" got 0'],
    [{ expires: new Date(NaN) }, '"expires" got "Invalid Date"'],
  ])('%j is an error', (options, message) => {
    expect(stamping(options)).toThrow(message)
  })
})

test.each<[object, string]>([
  [{ startAfter: 30 }, 'enqueue() has no such option. Use delay or at.'],
  [{ runAt: new Date(0) }, 'Use at.'],
  [{ jobId: 'x' }, 'Use id.'],
  [{ attempts: 3 }, 'Use retry.failures.'],
  [{ priorty: 3 }, 'Did you mean priority?'],
  [{ input: 3 }, 'It has: id, dedup, delay, at, queue'],
])('an unknown option is an error in plain JavaScript too: %j', (options, message) => {
  expect(stamping(options)).toThrow(InvalidOptionError)
  expect(stamping(options)).toThrow(message)
})

test('options that are functions belong to the kind, not to the call', () => {
  expect(stamping({ queue: () => 'mail' })).toThrow(InvalidNameError)
})

test('stamps share nothing that a caller could change', () => {
  const options: EnqueueOptions = { retry: { failures: 3 } }
  const stamp = stampOptions(plain, undefined, options)
  Object.assign(options, { retry: { failures: 4 } })
  expect(stamp.policy.failures).toBe(3)
  expect(Object.isFrozen(DEFAULT_POLICY)).toBe(true)
  expect(Object.isFrozen(DEFAULT_POLICY.keep)).toBe(true)
})

function stamping(options: object): () => unknown {
  return () => Reflect.apply(stampOptions, undefined, [plain, undefined, options])
}
