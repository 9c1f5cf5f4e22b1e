import type { ActiveRun } from './execute.ts'

/**
 * The runs whose handlers are at work. Each knows its place in a list, so that one more or one less
 * allocates nothing: a Set of short runs grows and shrinks all the time, half a kilobyte for each.
 */
export interface RunSet {
  add(run: ActiveRun): void
  remove(run: ActiveRun): void
  /** As they are now: whoever goes over them may end some. */
  all(): readonly ActiveRun[]
  readonly size: number
}

export function runSet(): RunSet {
  const runs: ActiveRun[] = []
  return {
    add(run) {
      run.place = runs.length
      runs.push(run)
    },
    remove(run) {
      if (runs[run.place] !== run) return
      const last = runs.pop()
      if (last === undefined || last === run) return
      runs[run.place] = last
      last.place = run.place
    },
    all: () => [...runs],
    get size() {
      return runs.length
    },
  }
}
