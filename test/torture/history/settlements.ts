import { grouped, runName } from './history.ts'
import type { History } from './history.ts'

/**
 * What a worker was answered is what was recorded: a settlement that applied stands there, once and
 * with its outcome; one that missed changed nothing. A run that ended is settled once.
 */
export function settlementFaults(history: History): readonly string[] {
  const records = grouped(history.of('recorded'), ownerKey)
  const settled = history.of('settled')
  const applied = grouped(
    settled.filter((each) => each.applied),
    ownerKey,
  )
  const twice = [...applied.values()]
    .filter(({ length }) => length > 1)
    .flatMap(([first]) => first ?? [])
  return [
    ...twice.map((each) => `${runName(each)} was settled twice by ${each.worker}`),
    ...settled.flatMap((each) => {
      const found = records.get(ownerKey(each)) ?? []
      const isThere = found.some(({ outcome }) => outcome === each.outcome)
      if (each.applied === isThere) return []
      const answer = `${runName(each)}: ${each.worker} was answered that "${each.outcome}"`
      return [
        each.applied
          ? `${answer} applied, and it is not recorded`
          : `${answer} missed, and it is recorded`,
      ]
    }),
  ]
}

function ownerKey({
  job,
  run,
  worker,
}: {
  readonly job: string
  readonly run: number
  readonly worker: string
}): string {
  return `${job} ${run} ${worker}`
}
