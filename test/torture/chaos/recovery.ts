import type { Fact } from '../history/fact.ts'
import { grouped, historyOf } from '../history/history.ts'
import type { FactOf, History } from '../history/history.ts'
import { median } from '../ratio.ts'
import type { Strike } from './crew.ts'
import { LEASE_MS } from './kinds.ts'

/**
 * How long it takes until work goes on after a fault: from its end to the next settlement, by the
 * worker that it hit, or by any where it hit all; for a producer to its next answer. A worker that is killed settles nothing any more:
 * there it is the time from its end until the last of the jobs it had is begun elsewhere, which a
 * lease bounds. Pure: strikes and facts in, times out.
 */
export interface Recovery {
  readonly how: string
  /** Faults that no other met before work went on. */
  readonly alone: Times
  /** Those that another met, or found not yet recovered from one before. */
  readonly met: Times
  /** Faults behind which nothing came: something else ended the process first, or it had no jobs. */
  readonly unknown: number
}

/** Milliseconds; NaN of none. */
export interface Times {
  readonly count: number
  readonly medianMs: number
  readonly maxMs: number
}

export function recoveriesOf(
  strikes: readonly Strike[],
  facts: readonly Fact[],
): readonly Recovery[] {
  const history = historyOf(facts, 0)
  const settled = history.of('settled')
  const ofProcess = grouped<FactOf<'settled' | 'enqueued'>>(
    [...settled, ...history.of('enqueued')],
    ({ process }) => process,
  )
  const killed = killedRuns(history)
  return [...grouped(strikes, ({ how }) => how)].map(([how, found]) => {
    const times = found.flatMap((strike): readonly Time[] => {
      const [ms] = timesOf(strike)
      return ms === undefined
        ? []
        : [{ ms, isMet: isMet({ ...strike, to: strike.to + ms }, strikes) }]
    })
    const alone = timesIn(times.filter(({ isMet }) => !isMet))
    const met = timesIn(times.filter(({ isMet }) => isMet))
    return { how, alone, met, unknown: found.length - times.length }
  })

  function timesOf(strike: Strike): readonly number[] {
    const { how, target, to } = strike
    if (how === 'kill') return untilElsewhere(strike, killed.get(target ?? '') ?? [])
    const own = target === null ? settled : (ofProcess.get(target) ?? [])
    const next = firstAfter(own, to)
    return next === undefined ? [] : [next.at - to]
  }
}

interface Time {
  readonly ms: number
  readonly isMet: boolean
}

function timesIn(times: readonly Time[]): Times {
  const all = times.map(({ ms }) => ms)
  return { count: all.length, medianMs: median(all), maxMs: Math.max(...all) }
}

/** Whether another fault reached into the time from this one's begin to the end of its recovery. */
function isMet(whole: Strike, strikes: readonly Strike[]): boolean {
  return strikes.some(({ how, target, from, to }) => {
    if (how === whole.how && from === whole.from) return false
    const isSame = target === null || whole.target === null || target === whole.target
    return isSame && from <= whole.to && to + (LINGERS[how] ?? SETTLES_DOWN) >= whole.from
  })
}

// Connections that are dead without saying so are given up after 30 s.
const LINGERS: Readonly<Record<string, number>> = { blackhole: 35_000 }

/**
 * Jobs of killed workers that came elsewhere too late: later than a lease, what looking for lapsed
 * ones takes, and the time that others could do nothing because of what was done to all meanwhile.
 */
export function lateRecoveries(
  strikes: readonly Strike[],
  facts: readonly Fact[],
): readonly string[] {
  const killed = killedRuns(historyOf(facts, 0))
  const global = strikes.filter(({ how }) => how !== 'kill')
  return strikes
    .filter(({ how }) => how === 'kill')
    .flatMap((strike) => {
      const name = strike.target ?? ''
      const [tookMs = 0] = untilElsewhere(strike, killed.get(name) ?? [])
      const until = strike.to + tookMs
      const excused = global
        .filter(({ from, to }) => from < until && to > strike.to - LEASE_MS)
        .reduce((sum, { from, to }) => sum + (to - from) + SETTLES_DOWN, 0)
      const bound = LEASE_MS + LOOKS + excused
      if (tookMs <= bound) return []
      return [`the jobs of ${name}, killed, were begun elsewhere after ${Math.round(tookMs)} ms`]
    })
}

// A second of grace, a look each lease, one that is passed over by who doubts its clock, a backoff.
const LOOKS = 10_000
// After each fault that is over connections are made anew, and clocks are set.
const SETTLES_DOWN = 5_000

interface LostRun {
  readonly beganAt: number
  /** The next run of the job; undefined where it is dead. */
  readonly nextAt: number | undefined
}

/** By worker: the runs that were taken from it, and when they were begun elsewhere. */
function killedRuns(history: History): ReadonlyMap<string, readonly LostRun[]> {
  const begun = grouped(history.of('began'), ({ job }) => job)
  const lost = history.of('recorded').filter(({ outcome }) => outcome === 'stale-recovered')
  const runs = lost.map((record) => ({
    worker: record.worker,
    beganAt: record.startedAt,
    nextAt: firstRunAfter(begun.get(record.job) ?? [], record.run),
  }))
  return grouped(runs, ({ worker }) => worker)
}

function firstRunAfter(begun: readonly FactOf<'began'>[], run: number): number | undefined {
  return begun.find((each) => each.run > run)?.at
}

function untilElsewhere({ from, to }: Strike, lost: readonly LostRun[]): readonly number[] {
  const times = lost
    .filter(({ beganAt }) => beganAt <= from)
    .flatMap(({ nextAt }) => (nextAt === undefined || nextAt < to ? [] : [nextAt - to]))
  return times.length === 0 ? [] : [Math.max(...times)]
}

function firstAfter(
  facts: readonly FactOf<'settled' | 'enqueued'>[],
  instant: number,
): FactOf<'settled' | 'enqueued'> | undefined {
  let [low, high] = [0, facts.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((facts[middle]?.at ?? 0) < instant) low = middle + 1
    else high = middle
  }
  return facts[low]
}
