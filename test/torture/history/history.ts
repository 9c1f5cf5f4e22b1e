import type { About, Fact } from './fact.ts'

/** Facts in the order of their instants, by what they are. */
export interface History {
  of<What extends About['what']>(what: What): readonly FactOf<What>[]
  /**
   * How far, in milliseconds, an instant of the database may lie from one of the machine: the clock
   * of each client is set by the database's, with some error.
   */
  readonly skew: number
}

export type FactOf<What extends About['what']> = Extract<Fact, { readonly what: What }>

export function historyOf(facts: readonly Fact[], skew: number): History {
  const ordered = facts.toSorted((one, other) => one.at - other.at)
  const known = new Map<string, Fact[]>()
  for (const fact of ordered) add(known, fact.what, fact)
  return {
    skew,
    of<What extends About['what']>(what: What): readonly FactOf<What>[] {
      return (known.get(what) ?? []).filter((fact): fact is FactOf<What> => fact.what === what)
    },
  }
}

export function grouped<T>(
  values: readonly T[],
  keyOf: (value: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) add(groups, keyOf(value), value)
  return groups
}

/** By a key that each has for itself; of several the last. */
export function keyed<T>(
  values: readonly T[],
  keyOf: (value: T) => string,
): ReadonlyMap<string, T> {
  return new Map(values.map((value) => [keyOf(value), value]))
}

export function runKey({ job, run }: { readonly job: string; readonly run: number }): string {
  return `${job} ${run}`
}

export function runName({ job, run }: { readonly job: string; readonly run: number }): string {
  return `run ${run} of job ${job}`
}

function add<T>(groups: Map<string, T[]>, key: string, value: T): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, [value])
  else group.push(value)
}
