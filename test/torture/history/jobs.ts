import type { Began, Recorded } from './fact.ts'
import { grouped, runName } from './history.ts'
import type { History } from './history.ts'

/**
 * Every acknowledged job is in one place in the end, and its records tell one story: the runs 1 … n,
 * each once, the last one the end and no other; or none the end, and it waits or runs, or ended while
 * it waited.
 */
export function jobFaults(history: History): readonly string[] {
  const placed = grouped(history.of('placed'), ({ job }) => job)
  const recorded = grouped(history.of('recorded'), ({ job }) => job)
  const begun = grouped(history.of('began'), ({ job }) => job)
  const waited = new Set(history.of('ended-waiting').map(({ job }) => job))
  const acknowledged = new Set(history.of('enqueued').map(({ job }) => job))
  const lost = [...acknowledged].filter((job) => !placed.has(job))
  const strays = [...recorded.keys()].filter((job) => !placed.has(job))
  return [
    ...askFaults(history),
    ...lost.map((job) => `job ${job} was acknowledged and is in no table`),
    ...strays.map((job) => `job ${job} has records and is in no table`),
    ...[...placed].flatMap(([job, found]) => {
      const places = found.flatMap((each) => each.places)
      const records = recorded.get(job) ?? []
      return [
        ...placeFaults(job, places),
        ...storyFaults({ job, hasWaited: waited.has(job) }, places, records),
        ...unrecordedFaults(begun.get(job) ?? [], places, records),
      ]
    }),
  ]
}

/** One ask, one job; and none of one that was rolled back. */
function askFaults(history: History): readonly string[] {
  const jobs = new Map<number, Set<string>>()
  for (const { ask, job } of [...history.of('enqueued'), ...history.of('placed')]) {
    if (ask !== null) jobs.set(ask, (jobs.get(ask) ?? new Set()).add(job))
  }
  const rolledBack = new Set(history.of('rolled-back').map(({ ask }) => ask))
  return [...jobs].flatMap(([ask, found]) => {
    const all = [...found].join(' and ')
    if (rolledBack.has(ask)) return [`ask ${ask} was rolled back, and there is job ${all} of it`]
    return found.size > 1 ? [`ask ${ask} made the jobs ${all}`] : []
  })
}

function placeFaults(job: string, places: readonly string[]): readonly string[] {
  if (places.length === 1) return []
  return [`job ${job} is in ${places.join(' and ') || 'none of the places'}, not in one`]
}

function storyFaults(
  { job, hasWaited }: { readonly job: string; readonly hasWaited: boolean },
  places: readonly string[],
  records: readonly Recorded[],
): readonly string[] {
  const inOrder = records.toSorted((one, other) => one.run - other.run)
  const runs = inOrder.map(({ run }) => run)
  if (runs.some((run, position) => run !== position + 1)) {
    return [`job ${job} has records of the runs ${runs.join(', ')}, not of each once`]
  }
  const ends = inOrder.filter(isEnd)
  const isEnded = places.length === 1 && places[0] === 'finished'
  // A job may end without a run: cancelled or expired before its first, or between two.
  const isWithoutRun = hasWaited || inOrder.length === 0
  const isTold = ends.length === (isEnded && !isWithoutRun ? 1 : 0)
  const isLast = ends.length === 0 || ends[0] === inOrder.at(-1)
  if (isTold && isLast) return []
  const story = inOrder.map(({ outcome }) => outcome).join(', ')
  return [`job ${job} went ${story || 'nowhere'}, and is in ${places.join(' and ')}`]
}

/** Whatever began is recorded, but for the run that holds the lease now. */
function unrecordedFaults(
  begun: readonly Began[],
  places: readonly string[],
  records: readonly Recorded[],
): readonly string[] {
  const numbers = new Set(records.map(({ run }) => run))
  const isRunning = ({ run }: Began): boolean =>
    places.includes('leases') && run === numbers.size + 1
  return begun
    .filter((each) => !numbers.has(each.run) && !isRunning(each))
    .map((each) => `${runName(each)} began and is not recorded`)
}

function isEnd({ outcome }: Recorded): boolean {
  return ENDS.has(outcome)
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'dead', 'cancelled'])
