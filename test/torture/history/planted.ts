import type { About, Fact } from './fact.ts'
import { soundHistory } from './sound.ts'

// Faults for the tests of the checker: a sound history with one fact changed, left out or told twice.

export type Members = Readonly<Record<string, unknown>>

export function at(what: About['what'], members: Members): number {
  const found = soundHistory().find((fact) => is(fact, what, members))
  if (found === undefined) throw new Error(`there is no ${what} in the sound history`)
  return found.at
}

export function without(
  what: About['what'],
  members: Members,
  facts: readonly Fact[] = soundHistory(),
): readonly Fact[] {
  return facts.filter((fact) => !is(fact, what, members))
}

export function changed(
  what: About['what'],
  members: Members,
  changes: Members,
  facts: readonly Fact[] = soundHistory(),
): readonly Fact[] {
  return facts.map((fact) => (is(fact, what, members) ? { ...fact, ...changes } : fact))
}

export function moved(
  what: About['what'],
  members: Members,
  to: number,
  facts: readonly Fact[] = soundHistory(),
): readonly Fact[] {
  return changed(what, members, { at: to }, facts)
}

/** The history and the fact once more, with changes. */
export function again(
  what: About['what'],
  members: Members,
  changes: Members = {},
): readonly Fact[] {
  const twins = soundHistory().filter((fact) => is(fact, what, members))
  return [...soundHistory(), ...twins.map((fact) => ({ ...fact, ...changes }))]
}

function is(fact: Fact, what: About['what'], members: Members): boolean {
  const own = new Map<string, unknown>(Object.entries(fact))
  return (
    fact.what === what && Object.entries(members).every(([name, value]) => own.get(name) === value)
  )
}
