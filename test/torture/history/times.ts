import type { Enqueued } from './fact.ts'
import { grouped, keyed, runKey, runName } from './history.ts'
import type { FactOf, History } from './history.ts'

/**
 * Nothing starts before it is due: a first run not before its ask said, a later one not before the
 * record of the one before said. And no job is claimed once it has expired. Judged by the
 * claim where it is recorded, since a worker may claim a moment ahead; else by the call.
 */
export function timeFaults(history: History): readonly string[] {
  const records = keyed(history.of('recorded'), runKey)
  const asks = grouped(history.of('enqueued'), ({ job }) => job)
  return startsOf(history).flatMap((start) => {
    const asked = asks.get(start.job) ?? []
    const dueAt = start.run === 1 ? earliest(asked) : dueAfter(records, start)
    const expiresAt = latest(asked)
    const faults: string[] = []
    if (dueAt !== null && start.at < dueAt - history.skew) {
      faults.push(`${runName(start)} started ${dueAt - start.at} ms before it was due`)
    }
    if (expiresAt !== null && start.claimedAt > expiresAt + history.skew) {
      faults.push(`${runName(start)} started ${start.claimedAt - expiresAt} ms after it expired`)
    }
    return faults
  })
}

interface Start {
  readonly job: string
  readonly run: number
  /** The handler was called; where nobody told of that, it was claimed. */
  readonly at: number
  readonly claimedAt: number
}

function startsOf(history: History): readonly Start[] {
  const recorded = keyed(history.of('recorded'), runKey)
  const begun = keyed(history.of('began'), runKey)
  return [...new Set([...recorded.keys(), ...begun.keys()])].flatMap((key): readonly Start[] => {
    const began = begun.get(key)
    const claimedAt = recorded.get(key)?.startedAt
    const { job, run } = began ?? recorded.get(key) ?? {}
    if (job === undefined || run === undefined) return []
    const at = began?.at ?? claimedAt ?? 0
    return [{ job, run, at, claimedAt: claimedAt ?? at }]
  })
}

function dueAfter(
  records: ReadonlyMap<string, FactOf<'recorded'>>,
  { job, run }: Start,
): number | null {
  return records.get(runKey({ job, run: run - 1 }))?.dueAt ?? null
}

// Asks that were merged into one job: it is due at the earlier, and expires at the later instant.
function earliest(asked: readonly Enqueued[]): number | null {
  return asked.length === 0 ? null : Math.min(...asked.map(({ dueAt }) => dueAt))
}

function latest(asked: readonly Enqueued[]): number | null {
  const ends = asked.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY)
  return ends.length === 0 ? null : Math.max(...ends)
}
