import type { Due, Fired } from './fact.ts'
import { grouped } from './history.ts'
import type { History } from './history.ts'

/** Each boundary of a schedule is fired, and once; what was fired was a boundary, where they are told. */
export function fireFaults(history: History): readonly string[] {
  const due = grouped(history.of('due'), boundaryKey)
  const fired = grouped(history.of('fired'), boundaryKey)
  const told = new Set(history.of('due').map(({ schedule }) => schedule))
  const missing = [...due].filter(([key]) => !fired.has(key))
  return [
    ...missing.flatMap(([, [first]]) => first ?? []).map((each) => `${nameOf(each)} was not fired`),
    ...[...fired].flatMap(([key, found]) => {
      const [first] = found
      if (first === undefined) return []
      const faults: string[] = []
      if (found.length > 1) faults.push(`${nameOf(first)} was fired ${found.length} times`)
      if (told.has(first.schedule) && !due.has(key)) {
        faults.push(`${nameOf(first)} was fired, and is no boundary`)
      }
      return faults
    }),
  ]
}

function boundaryKey({ schedule, boundary }: Due | Fired): string {
  return `${boundary} ${schedule}`
}

function nameOf({ schedule, boundary }: Due | Fired): string {
  return `${new Date(boundary).toISOString()} of schedule ${schedule}`
}
