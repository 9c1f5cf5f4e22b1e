import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { GiveUp, LeaseLostError, RetryIn, ShutdownError } from '../../src/index.ts'
import { DEFAULT_POLICY } from '../../src/jobs/policy.ts'
import type { Policy } from '../../src/jobs/policy.ts'
import {
  afterLapse,
  afterRelease,
  afterReturn,
  afterThrow,
  afterUndecodable,
  encodedError,
  isShutdown,
} from '../../src/worker/fate.ts'
import type { RunOfJob } from '../../src/worker/fate.ts'

const DAY = 86_400_000
const policy: Policy = {
  ...DEFAULT_POLICY,
  failures: 3,
  backoff: { type: 'linear', baseMs: 1_000, factor: 2, capMs: 60_000, jitter: 0 },
}
const id = makeId(1)

function run(change: Partial<RunOfJob> = {}): RunOfJob {
  return {
    id,
    run: 4,
    failures: 0,
    policy,
    remarks: { note: 'n', attachment: '{"a":1}' },
    ...change,
  }
}

const ifCancelled = { cancelled_keep_ms: 7 * DAY }

test('§5: a return completes the job, with note, attachment and the result of a kind that declares one', () => {
  const completed = {
    id,
    run: 4,
    outcome: 'completed',
    keep_ms: 7 * DAY,
    note: 'n',
    attachment: '{"a":1}',
  }
  expect(afterReturn(run(), '[1]')).toEqual({ ...completed, result: '[1]' })
  expect(afterReturn(run(), undefined)).toEqual(completed)
})

test.each([
  [0, { outcome: 'retried', reason: 'retry', failures: 1, delay_ms: 1_000, ...ifCancelled }],
  [1, { outcome: 'retried', reason: 'retry', failures: 2, delay_ms: 2_000, ...ifCancelled }],
  [2, { outcome: 'dead', reason: 'failed', failures: 3, keep_ms: 30 * DAY, ...ifCancelled }],
  [7, { outcome: 'dead', reason: 'failed', failures: 8, keep_ms: 30 * DAY, ...ifCancelled }],
])('§5: a throw after %d failures of 3', (failures, expected) => {
  const fate = afterThrow(run({ failures }), new RangeError('no'))
  const error = encodedError(new RangeError('no'))
  expect({ ...fate, error: undefined }).toEqual({
    id,
    run: 4,
    note: 'n',
    attachment: '{"a":1}',
    ...expected,
    error: undefined,
  })
  expect(JSON.parse(fate.error ?? '')).toMatchObject({
    name: 'RangeError',
    message: JSON.parse(error).message,
  })
})

test('§5: GiveUp is dead at once, RetryIn waits as it says and counts', () => {
  expect(afterThrow(run(), new GiveUp('why'))).toMatchObject({
    outcome: 'dead',
    reason: 'gave-up',
    failures: 1,
  })
  expect(afterThrow(run(), new RetryIn('90s'))).toMatchObject({
    outcome: 'retried',
    failures: 1,
    delay_ms: 90_000,
  })
  expect(afterThrow(run(), new RetryIn(0))).toMatchObject({ delay_ms: 0 })
  expect(afterThrow(run({ failures: 2 }), new RetryIn('90s'))).toMatchObject({
    outcome: 'dead',
    reason: 'failed',
    failures: 3,
  })
})

test('§5: an input that cannot be read is dead, whatever failures are left', () => {
  expect(afterUndecodable(run(), new SyntaxError('x'))).toMatchObject({
    outcome: 'dead',
    reason: 'undecodable',
    failures: 1,
  })
})

test('§5: a release keeps place and failures, and what the run noted', () => {
  const released = { id, run: 4, outcome: 'released', reason: 'release' }
  expect(afterRelease({ id, run: 4, policy: DEFAULT_POLICY })).toMatchObject(released)
  expect(afterRelease(run())).toMatchObject({ ...released, note: 'n', attachment: '{"a":1}' })
})

test.each([
  [0, { outcome: 'stale-recovered', reason: 'recover', failures: 1, delay_ms: 1_000 }],
  [1, { outcome: 'stale-recovered', reason: 'recover', failures: 2, delay_ms: 2_000 }],
  [2, { outcome: 'dead', reason: 'failed', failures: 3, keep_ms: 30 * DAY }],
])('L3: a lapse after %d failures of 3 counts as one more', (failures, expected) => {
  const fate = afterLapse({ ...run({ failures, remarks: {} }), worker: 'host:1:gone' })
  expect(fate).toMatchObject({ id, run: 4, worker: 'host:1:gone', ...expected })
  expect(JSON.parse(fate.error ?? '')).toMatchObject({ code: 'LEASE_LOST' })
})

test('E2: nothing is kept for less than a minute, and what is kept for ever has no end', () => {
  const keep = { completed: 0, cancelled: 0, dead: null }
  expect(afterReturn(run({ policy: { ...policy, keep } }), undefined).keep_ms).toBe(60_000)
  expect(afterThrow(run({ policy: { ...policy, keep } }), new GiveUp('x'))).not.toHaveProperty(
    'keep_ms',
  )
})

test('X3: a rejection with the shutdown reason, in its causes, or an AbortError after it, is a release', () => {
  const reason = new ShutdownError()
  const abort = Object.assign(new Error('aborted'), { name: 'AbortError' })
  const yes = [
    reason,
    new Error('x', { cause: reason }),
    new Error('x', { cause: new Error('y', { cause: reason }) }),
    abort,
    new DOMException('aborted', 'AbortError'),
    new Error('x', { cause: abort }),
  ]
  const no = [new Error('x'), new ShutdownError(), 'AbortError', undefined, { name: 'AbortError' }]
  expect(yes.map((error) => isShutdown(error, reason))).toEqual(yes.map(() => true))
  expect(no.map((error) => isShutdown(error, reason))).toEqual(no.map(() => false))
  const other = [undefined, new LeaseLostError(id, 1)]
  expect(other.map((why) => isShutdown(abort, why))).toEqual([false, false])
})

test('X3: a circle of causes is no shutdown, and ends', () => {
  const circle = new Error('x')
  circle.cause = circle
  expect(isShutdown(circle, new ShutdownError())).toBe(false)
})

test('O2: whatever is thrown, its fate is a row that can be stored', () => {
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('get')
      },
      getPrototypeOf: () => {
        throw new Error('getPrototypeOf')
      },
    },
  )
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (thrown) => {
      const fate = afterThrow(run({ remarks: {} }), thrown)
      expect(fate.outcome).toBe('retried')
      expect(JSON.parse(fate.error ?? '')).toHaveProperty('message')
    }),
  )
  expect(afterThrow(run(), hostile)).toMatchObject({ outcome: 'retried', failures: 1 })
  expect(isShutdown(hostile, new ShutdownError())).toBe(false)
})

test('§5: delays are whole milliseconds, failures never go down, the last failure is always the end', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, limit, jitter) => {
        const curve = { ...DEFAULT_POLICY.backoff, jitter }
        const given = run({
          failures,
          policy: { ...DEFAULT_POLICY, failures: limit, backoff: curve },
        })
        for (const fate of [
          afterThrow(given, new Error('x')),
          afterLapse({ ...given, worker: 'w' }),
        ]) {
          expect(fate.failures).toBe(failures + 1)
          expect(fate.outcome === 'dead').toBe(failures + 1 >= limit)
          expect(Number.isInteger(fate.delay_ms ?? 0)).toBe(true)
        }
      },
    ),
  )
})
