/**
 * Time as Millrace sees it: one clock per client, set by the database's, so that workers on hosts
 * whose own clocks disagree still agree about leases. Nothing else in the package reads the
 * machine's time, waits, or sets a timer; tests put a manual clock here and move it by hand.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. Never goes back. */
  now(): number
  /** Calls `callback` once after `ms` on this clock; the function it returns takes that back. */
  after(ms: number, callback: () => void): () => void
}

/** One look at the database's clock, in milliseconds. */
export interface ClockSample {
  /** Monotonic time when the question left. */
  readonly sentAt: number
  /** Monotonic time when the answer came. */
  readonly receivedAt: number
  /** What the database said, since the Unix epoch. */
  readonly databaseTime: number
}

/** A clock that runs on the machine's monotonic one and is set by samples of the database's. */
export interface DatabaseClock extends Clock {
  observe(sample: ClockSample): void
  /**
   * True when the samples cannot be trusted: none yet, older than a minute, or the process was
   * suspended; where all of them took long, also while they are fewer than three, and after 5 s.
   */
  needsSample(): boolean
  /** Forgets the samples: the next statement takes a new one first (after a reconnect). */
  distrust(): void
  /** Counts the times that the clock was found out of step after a suspension or a reconnect. */
  readonly doubts: number
  /** How far `now` may be off: half the best round trip, in milliseconds. */
  readonly errorMs: number
  monotonic(): number
  /** Ends the timer that notices suspensions. */
  close(): void
}

// setTimeout fires at once for longer waits than this.
const LONGEST_TIMER = 2 ** 31 - 1

const SAMPLES = 8
const SAMPLE_EVERY = 60_000
// A sample may be wrong by half its round trip: one way may have taken all of it. Where the best took
// longer than this, more are taken, and again soon.
const SLOW = 500
const SLOW_SAMPLES = 3
const SLOW_SAMPLE_EVERY = 5_000
const PARTED = 200
const TICK = 1_000

export function databaseClock(): DatabaseClock {
  const samples: ClockSample[] = []
  let offset = Date.now() - performance.now()
  let latest = 0
  let doubts = 0
  let trusted = false
  let sampledAt = 0
  let parting = Date.now() - performance.now()
  let tickedAt = performance.now()

  // A stopped process (SIGSTOP, a paused virtual machine) finds that its tick is late; a suspended
  // one that wall time went on while monotonic time stood still.
  const tick = setInterval(() => {
    if (wasSuspended()) doubt()
    tickedAt = performance.now()
  }, TICK).unref()

  function wasSuspended(): boolean {
    const moved = Math.abs(Date.now() - performance.now() - parting) > PARTED
    return moved || performance.now() - tickedAt > TICK + PARTED
  }

  function doubt(): void {
    if (trusted) doubts += 1
    trusted = false
    samples.length = 0
    parting = Date.now() - performance.now()
    tickedAt = performance.now()
  }

  return {
    now() {
      latest = Math.max(latest, Math.floor(performance.now() + offset))
      return latest
    },
    after(ms, callback) {
      const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(ms)), LONGEST_TIMER))
      return () => clearTimeout(timer)
    },
    observe(sample) {
      samples.push(sample)
      if (samples.length > SAMPLES) samples.shift()
      offset = offsetOf(shortest(samples))
      trusted = true
      sampledAt = sample.receivedAt
    },
    needsSample() {
      if (trusted && wasSuspended()) doubt()
      if (!trusted) return true
      const age = performance.now() - sampledAt
      if (roundTrip(shortest(samples)) <= SLOW) return age > SAMPLE_EVERY
      return samples.length < SLOW_SAMPLES || age > SLOW_SAMPLE_EVERY
    },
    distrust: doubt,
    get doubts() {
      return doubts
    },
    get errorMs() {
      return samples.length === 0 ? 0 : roundTrip(shortest(samples)) / 2
    },
    monotonic: () => performance.now(),
    close: () => clearInterval(tick),
  }
}

/** The sample that can be least wrong (Cristian's algorithm): the one with the shortest round trip. */
export function shortest(samples: readonly ClockSample[]): ClockSample {
  return samples.reduce((best, sample) => (roundTrip(sample) < roundTrip(best) ? sample : best))
}

/** What must be added to monotonic time: the database answered half way through the round trip. */
export function offsetOf(sample: ClockSample): number {
  return sample.databaseTime - (sample.sentAt + sample.receivedAt) / 2
}

function roundTrip(sample: ClockSample): number {
  return sample.receivedAt - sample.sentAt
}
