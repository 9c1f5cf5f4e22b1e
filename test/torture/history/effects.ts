import { grouped, runKey, runName } from './history.ts'
import type { History } from './history.ts'

/**
 * Exactly once: a run of `run.transaction` that completed has one effect, its own; a run that did
 * not complete has none, however far its transaction came.
 */
export function effectFaults(history: History): readonly string[] {
  const effects = grouped(history.of('effect'), runKey)
  const completed = history.of('recorded').filter(({ outcome }) => outcome === 'completed')
  const owners = new Map(completed.map((record) => [runKey(record), record.worker]))
  const transactional = history.of('began').filter((each) => each.isTransactional)
  const missing = transactional.filter(
    (run) => owners.has(runKey(run)) && !effects.has(runKey(run)),
  )
  return [
    ...missing.map((run) => `${runName(run)} completed, and its effect is missing`),
    ...[...effects].flatMap(([key, found]) => {
      const [first] = found
      if (first === undefined) return []
      if (found.length > 1) return [`${runName(first)} has ${found.length} effects`]
      const owner = owners.get(key)
      if (owner === undefined) return [`${runName(first)} has an effect, and did not complete`]
      if (owner === first.worker) return []
      return [`${runName(first)} has an effect of ${first.worker}, recorded is ${owner}`]
    }),
  ]
}
