import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { databaseClock, offsetOf, shortest } from '../../src/core/clock.ts'
import type { ClockSample, DatabaseClock } from '../../src/core/clock.ts'

const NOON = Date.UTC(2025, 5, 15, 12)

// The machine's two clocks, moved by hand.
let wall = NOON
let monotonic = 0
let clock: DatabaseClock

beforeEach(() => {
  wall = NOON
  monotonic = 1_000
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  vi.spyOn(Date, 'now').mockImplementation(() => wall)
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic)
  clock = databaseClock()
})
afterEach(() => {
  clock.close()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

function pass(ms: number): void {
  wall += ms
  monotonic += ms
}

/** A question that took `roundTrip`, answered half way by a database `ahead` of this machine. */
function sample(ahead: number, roundTrip = 0): void {
  const sentAt = monotonic
  pass(roundTrip)
  clock.observe({ sentAt, receivedAt: monotonic, databaseTime: wall - roundTrip / 2 + ahead })
}

describe('the offset', () => {
  const samples: fc.Arbitrary<ClockSample[]> = fc.array(
    fc
      .tuple(fc.nat(1e9), fc.nat(60_000), fc.nat(2e9))
      .map(([sentAt, took, databaseTime]) => ({ sentAt, receivedAt: sentAt + took, databaseTime })),
    { minLength: 1, maxLength: 8 },
  )

  test('is what the database said, less the middle of the round trip', () => {
    expect(offsetOf({ sentAt: 100, receivedAt: 140, databaseTime: 5_000 })).toBe(4_880)
  })

  test('is wrong by at most half the round trip, wherever in it the database answered', () => {
    fc.assert(
      fc.property(fc.nat(60_000), fc.double({ min: 0, max: 1, noNaN: true }), (took, share) => {
        const truth = 7_000_000
        const offset = offsetOf({ sentAt: 0, receivedAt: took, databaseTime: truth + took * share })
        expect(Math.abs(offset - truth)).toBeLessThanOrEqual(took / 2 + 1e-6)
      }),
    )
  })

  test('is taken from the sample with the shortest round trip, the first of several', () => {
    fc.assert(
      fc.property(samples, (all) => {
        const best = shortest(all)
        const took = all.map((each) => each.receivedAt - each.sentAt)
        expect(all.indexOf(best)).toBe(took.indexOf(Math.min(...took)))
      }),
    )
  })
})

describe('now', () => {
  test("is the database's time once a sample was taken, whatever this machine says", () => {
    sample(300_000)
    expect(clock.now()).toBe(NOON + 300_000)
    pass(5_000)
    expect(clock.now()).toBe(NOON + 305_000)
  })

  test('is whole milliseconds', () => {
    sample(0.7)
    pass(0.6)
    expect(clock.now()).toBe(NOON + 1)
  })

  test('follows the best of the last eight samples', () => {
    sample(1_000, 4)
    sample(9_000, 100)
    expect(clock.now()).toBe(wall + 1_000)
    expect(clock.errorMs).toBe(2)
    for (let count = 0; count < 7; count += 1) sample(9_000, 100)
    expect(clock.now()).toBe(wall + 9_000)
    expect(clock.errorMs).toBe(50)
  })

  test('never goes back: it stands until a smaller offset has caught up', () => {
    sample(10_000, 10)
    const first = clock.now()
    sample(8_000, 0)
    expect(clock.now()).toBe(first)
    pass(1_999)
    expect(clock.now()).toBe(first)
    pass(2)
    expect(clock.now()).toBe(first + 1)
  })

  test('does not follow the wall clock of the machine when somebody sets it', () => {
    sample(0)
    wall += 3_600_000
    expect(clock.now()).toBe(NOON)
  })
})

describe('a sample is needed', () => {
  test('before the first, and no more after it', () => {
    expect(clock.needsSample()).toBe(true)
    sample(0)
    expect(clock.needsSample()).toBe(false)
  })

  test('of a slow database two more, and again after five seconds: one way may have taken all the time', () => {
    const sampleThatTook = (ms: number): void =>
      clock.observe({ sentAt: monotonic - ms, receivedAt: monotonic, databaseTime: wall - ms / 2 })
    sampleThatTook(600)
    expect(clock.needsSample()).toBe(true)
    sampleThatTook(700)
    expect(clock.needsSample()).toBe(true)
    sampleThatTook(800)
    expect(clock.needsSample()).toBe(false)
    advanceWithTicks(5_001)
    expect(clock.needsSample()).toBe(true)
    sampleThatTook(20)
    advanceWithTicks(5_001)
    expect(clock.needsSample()).toBe(false)
    expect(clock.doubts).toBe(0)
  })

  test('once the last is older than a minute', () => {
    sample(0)
    advanceWithTicks(60_000)
    expect(clock.needsSample()).toBe(false)
    advanceWithTicks(1)
    expect(clock.needsSample()).toBe(true)
    expect(clock.doubts).toBe(0)
  })

  test.each([201, -201])(
    'when the two clocks parted by %d ms: the machine slept, or was set',
    (ms) => {
      sample(0)
      wall += ms
      expect(clock.needsSample()).toBe(true)
      expect(clock.doubts).toBe(1)
    },
  )

  test.each([199, -199])('but not when they parted by %d ms', (ms) => {
    sample(0)
    wall += ms
    expect(clock.needsSample()).toBe(false)
    expect(clock.doubts).toBe(0)
  })

  test('when the process was stopped for more than a second: both clocks went on, the tick did not', () => {
    sample(0)
    pass(1_300)
    expect(clock.needsSample()).toBe(true)
    expect(clock.doubts).toBe(1)
  })

  test('after a reconnect, and that counts once as a doubt', () => {
    sample(0)
    clock.distrust()
    clock.distrust()
    expect(clock.needsSample()).toBe(true)
    expect(clock.doubts).toBe(1)
  })

  test('and then the samples of before are forgotten: their offsets may be wrong now', () => {
    sample(1_000, 0)
    wall += 60_000
    expect(clock.needsSample()).toBe(true)
    sample(2_000, 100)
    expect(clock.now()).toBe(wall + 2_000)
  })

  test('is noticed by a timer too, when no statement asks', () => {
    sample(0)
    wall += 5_000
    vi.advanceTimersByTime(1_000)
    expect(clock.doubts).toBe(1)
  })
})

describe('after', () => {
  test('calls back once, and not when it was taken back', () => {
    const called: string[] = []
    clock.after(100, () => called.push('once'))
    clock.after(100, () => called.push('never'))()
    vi.advanceTimersByTime(1_000)
    expect(called).toEqual(['once'])
  })

  test('waits that are longer than timers hold are cut to what they hold, never to nothing', () => {
    const called: string[] = []
    // Its tick would fire two million times.
    clock.close()
    clock.after(Number.MAX_SAFE_INTEGER, () => called.push('late'))
    clock.after(-5, () => called.push('at once'))
    vi.advanceTimersByTime(10)
    expect(called).toEqual(['at once'])
    vi.advanceTimersByTime(2 ** 31 - 1)
    expect(called).toEqual(['at once', 'late'])
  })
})

/** Time passes with the clock's own tick running, as in a process that is awake. */
function advanceWithTicks(ms: number): void {
  let left = ms
  while (left > 0) {
    const step = Math.min(500, left)
    pass(step)
    vi.advanceTimersByTime(step)
    left -= step
  }
}
