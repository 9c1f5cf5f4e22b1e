import type { Began, Struck } from './fact.ts'
import { grouped, keyed, runKey, runName } from './history.ts'
import type { FactOf, History } from './history.ts'

/**
 * Runs of one job begin one after the other, each with a greater number, and each is over before the
 * next begins: its handler had returned, or was told that the run was lost. A process that could not
 * hear (killed, stopped, its server gone) need not have been told; but the tables must say that
 * the run was taken from it, and the next began no earlier.
 */
export function runFaults(history: History): readonly string[] {
  const context = contextOf(history)
  return [...grouped(history.of('began'), ({ job }) => job).values()].flatMap((begun) => [
    ...begun.flatMap((run, position) => numberFaults(run, begun.slice(0, position), context)),
    ...begun.flatMap((run) => overlapFaults(run, nextOf(run, begun), context)),
  ])
}

type Begun = FactOf<'began'>

interface Context {
  readonly skew: number
  readonly records: ReadonlyMap<string, FactOf<'recorded'>>
  /** When the run was over for whoever ran it. */
  readonly overAt: ReadonlyMap<string, number>
  readonly strikes: readonly Struck[]
}

function contextOf(history: History): Context {
  const overAt = new Map<string, number>()
  for (const fact of [...history.of('told'), ...history.of('returned')]) {
    const key = endKey(fact, fact.process)
    overAt.set(key, Math.min(fact.at, overAt.get(key) ?? Number.POSITIVE_INFINITY))
  }
  const strikes = history.of('struck').filter(({ how }) => DEAFENING.has(how))
  return { skew: history.skew, records: keyed(history.of('recorded'), runKey), overAt, strikes }
}

// What keeps a process from hearing that its runs are not its own any more.
const DEAFENING: ReadonlySet<string> = new Set(['kill', 'freeze', 'crash', 'isolate'])

function numberFaults(
  run: Begun,
  before: readonly Begun[],
  { strikes }: Context,
): readonly string[] {
  const twin = before.find((each) => each.run === run.run)
  if (twin !== undefined) {
    return [`${runName(run)} began twice: in ${twin.process} and in ${run.process}`]
  }
  const greatest = Math.max(0, ...before.map((each) => each.run))
  // A stopped process may begin, when it goes on, what it had claimed before and lost since.
  const wasStopped = strikes.some((each) => isOn(each, run) && (each.to ?? Infinity) <= run.at)
  if (run.run > greatest || wasStopped) return []
  return [`${runName(run)} began after run ${greatest}`]
}

function nextOf(run: Begun, begun: readonly Begun[]): Begun | undefined {
  const later = begun.filter((each) => each.run > run.run)
  return later.toSorted((one, other) => one.run - other.run)[0]
}

function overlapFaults(run: Begun, next: Begun | undefined, context: Context): readonly string[] {
  if (next === undefined) return []
  const { records, overAt, skew } = context
  const record = records.get(runKey(run))
  if (record !== undefined && record.recordedAt > next.at + skew) {
    return [`${runName(next)} began before the end of the one before was recorded`]
  }
  if ((overAt.get(endKey(run, run.process)) ?? Infinity) <= next.at) return []
  if (record !== undefined && record.outcome !== 'stale-recovered') {
    return [`${runName(next)} began while the run before still held its lease`]
  }
  if (wentAway(run, next, context)) return []
  return [`${runName(run)} went on, and was not told that it lost its lease`]
}

/** Whether its process was struck so between the two that it could not hear. */
function wentAway(run: Begun, next: Begun, { strikes, skew }: Context): boolean {
  return strikes.some(
    (each) => isOn(each, run) && each.from <= next.at && (each.to ?? Infinity) >= run.at - skew,
  )
}

function isOn({ target }: Struck, { process }: Begun): boolean {
  return target === null || target === process
}

function endKey(run: Pick<Began, 'job' | 'run'>, process: string): string {
  return `${runKey(run)} ${process}`
}
