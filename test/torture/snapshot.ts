import { Client } from 'pg'
import { until } from '../support/until.ts'
import { lineText, startLoad } from './load.ts'
import type { Load, LoadLine } from './load.ts'
import { atLeast, atMost, median } from './ratio.ts'
import type { Gate } from './ratio.ts'

/**
 * A transaction that stays open keeps every row that was deleted since, and its entries in all
 * indexes. One process asks for jobs at a fixed rate and one does them, first without such a
 * transaction, then beside one: neither the rate nor the claims may suffer.
 *
 * A machine that others use, too, is not as fast in one hour as in the next. A control is the same
 * load at the same time on another database, whose rows the transaction does not keep; what becomes
 * of the load is then compared with what becomes of the control.
 */
export interface SnapshotOptions {
  readonly baselineMs: number
  readonly heldMs: number
  /** A line for each, and what the gates compare. */
  readonly everyMs: number
  /** Jobs a second; null: `share` of what is measured to be the most. */
  readonly rate: number | null
  readonly share: number
  /** How long the most is measured for. */
  readonly mostMs: number
  /** Slots of the worker. */
  readonly concurrency: number
  /** Within this time of the release the backlog must be gone. */
  readonly releaseMs: number
  readonly say: (line: string) => void
}

export interface SnapshotReport {
  readonly rate: number
  readonly held: Phases
  readonly control: Phases | null
  /** How long it took to work off what had gathered; null: it did not. */
  readonly goneAfterMs: number | null
  readonly gates: readonly Gate[]
}

export interface Phases {
  readonly before: readonly LoadLine[]
  readonly beside: readonly LoadLine[]
}

/** On an empty database, and on another one for the control. */
export async function snapshot(
  urls: { readonly held: string; readonly control: string | null },
  options: SnapshotOptions,
): Promise<SnapshotReport> {
  const { say } = options
  await using held = await startLoad(urls.held, options)
  await using control = urls.control === null ? null : await startLoad(urls.control, options)
  const both = { held, control }
  const rate = options.rate ?? (await rateOf(both, options))
  say(`offered: ${rate} jobs/s${control === null ? '' : ' to each'}`)
  await settle(both, rate, options)

  const before = await linesOf(both, options.baselineMs, { ...options, name: 'before' })
  const beside = await besideSnapshot(urls.held, () =>
    linesOf(both, options.heldMs, { ...options, name: 'held' }),
  )
  const goneAfterMs = await untilGone(held, rate, options.releaseMs)
  say(goneAfterMs === null ? 'released: a backlog stayed' : `released: gone in ${goneAfterMs} ms`)
  await linesOf(both, options.everyMs, { ...options, name: 'after' })
  await Promise.all([held.end(), control?.end()])
  const phases = phasesOf(before, beside)
  return { ...phases, rate, goneAfterMs, gates: gatesOf(phases, { rate, goneAfterMs, options }) }
}

interface Both<T> {
  readonly held: T
  readonly control: T | null
}

/** Both at once: each gets half of the machine. */
async function rateOf({ held, control }: Both<Load>, options: SnapshotOptions): Promise<number> {
  const { mostMs, share, say } = options
  const most = await Promise.all([held.most(mostMs), control?.most(mostMs) ?? Infinity])
  say(`the most: ${most.filter(Number.isFinite).map(Math.round).join(' and ')} jobs/s`)
  return Math.round(Math.min(...most) * share)
}

/** What was asked for to measure the most is worked off first, and tables find their size. */
async function settle(
  { held, control }: Both<Load>,
  rate: number,
  { everyMs }: SnapshotOptions,
): Promise<void> {
  const loads = control === null ? [held] : [held, control]
  for (const each of loads) each.offer(rate)
  await until(() => loads.every((each) => each.waiting() < rate), { ms: 60_000 })
  await Promise.all(loads.map((each) => each.next(everyMs)))
}

async function linesOf(
  { held, control }: Both<Load>,
  ms: number,
  { name, everyMs, say }: Pick<SnapshotOptions, 'everyMs' | 'say'> & { readonly name: string },
): Promise<readonly Both<LoadLine>[]> {
  const made: Both<LoadLine>[] = []
  while (made.length * everyMs < ms) {
    const [own, other] = await Promise.all([held.next(everyMs), control?.next(everyMs) ?? null])
    made.push({ held: own, control: other })
    say(lineText(`${name} ${made.length}`, own))
    if (other !== null) say(lineText('  control', other))
  }
  return made
}

/** Holds a transaction open that has an id and a snapshot. */
async function besideSnapshot<T>(url: string, work: () => Promise<T>): Promise<T> {
  const holder = new Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query('begin isolation level repeatable read')
    await holder.query('select pg_current_xact_id(), count(*) from millrace.ready')
    return await work()
  } finally {
    await holder.end()
  }
}

async function untilGone(load: Load, rate: number, ms: number): Promise<number | null> {
  const began = performance.now()
  // At a steady rate some always wait: what a second brings is no backlog.
  const isGone = (): boolean => load.waiting() < rate
  return until(isGone, { ms }).then(
    () => Math.round(performance.now() - began),
    () => null,
  )
}

function phasesOf(
  before: readonly Both<LoadLine>[],
  beside: readonly Both<LoadLine>[],
): Both<Phases> {
  const controls = (lines: readonly Both<LoadLine>[]): readonly LoadLine[] =>
    lines.flatMap(({ control }) => control ?? [])
  const hasControl = before.some(({ control }) => control !== null)
  return {
    held: { before: before.map(({ held }) => held), beside: beside.map(({ held }) => held) },
    control: hasControl ? { before: controls(before), beside: controls(beside) } : null,
  }
}

function gatesOf(
  { held, control }: Both<Phases>,
  about: Pick<SnapshotReport, 'rate' | 'goneAfterMs'> & { readonly options: SnapshotOptions },
): readonly Gate[] {
  const { releaseMs } = about.options
  // To catch up is not to be faster than what is asked for.
  const speed: Measure = ({ perSecond }) => Math.min(perSecond, about.rate)
  const change = (measure: Measure, share: number): number =>
    changeOf(held, measure, share) / (control === null ? 1 : changeOf(control, measure, share))
  const gone = (about.goneAfterMs ?? Number.POSITIVE_INFINITY) / releaseMs
  return [
    atLeast(0.9, 'jobs/s beside a held snapshot to jobs/s without', change(speed, 1)),
    atLeast(0.9, 'the same, the last quarter of the time', change(speed, LAST)),
    atMost(1.5, 'claim p50 beside a held snapshot to without', change(claim, 1)),
    atMost(1.5, 'the same, the last quarter of the time', change(claim, LAST)),
    atMost(1, `time until the backlog is gone, in ${releaseMs / 1_000} s`, gone),
  ]
}

// The dead pile up: the end is the worst.
const LAST = 0.25

type Measure = (line: LoadLine) => number

function claim({ claims }: LoadLine): number {
  return claims.p50
}

function changeOf({ before, beside }: Phases, measure: Measure, share: number): number {
  const end = beside.slice(-Math.ceil(beside.length * share))
  return median(end.map(measure)) / median(before.map(measure))
}
