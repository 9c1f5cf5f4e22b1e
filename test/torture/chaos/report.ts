import type { Strike } from './crew.ts'
import { recoveriesOf } from './recovery.ts'
import type { Times } from './recovery.ts'
import type { ChaosEvidence } from './testimony.ts'

/** What a chaos came to. */
export interface ChaosReport extends ChaosEvidence {
  readonly strikes: readonly Strike[]
  readonly processes: number
  readonly complaints: ReadonlyMap<string, number>
}

const MOST_SHOWN = 20

/** Counts for people. */
export function chaosText(report: ChaosReport): string {
  const { facts, jobs, records, events, messages, starved, strikes, processes, violations } = report
  return [
    `processes       ${processes} begun`,
    `jobs            ${jobs.length}, ${events} events, ${messages} messages`,
    `runs            ${records.length} recorded: ${countsOf(records, ({ outcome }) => outcome)}`,
    `starved         ${starved} tasks were dead because their transactions found no database`,
    `history         ${facts.length} facts: ${countsOf(facts, ({ what }) => what)}`,
    `faults          ${strikes.length}`,
    `recovery times  of faults that no other met, and of those that others met:`,
    ...recoveriesOf(strikes, facts).map(({ how, alone, met, unknown }) => {
      const rest = unknown === 0 ? '' : ` · ${unknown} with nothing after them`
      return `  ${how.padEnd(18)}${timesText(alone)} · ${timesText(met)}${rest}`
    }),
    `complaints      ${[...report.complaints.values()].reduce((sum, each) => sum + each, 0)}`,
    ...shown(report.complaints),
    `violations      ${violations.length}`,
    ...violations.slice(0, MOST_SHOWN).map((violation) => `  ${violation}`),
  ].join('\n')
}

function timesText({ count, medianMs, maxMs }: Times): string {
  return count === 0 ? '0' : `${count}, median ${ms(medianMs)}, max ${ms(maxMs)}`
}

function shown(complaints: ReadonlyMap<string, number>): readonly string[] {
  const inOrder = [...complaints].toSorted(([, one], [, other]) => other - one)
  return inOrder.slice(0, MOST_SHOWN).map(([words, count]) => `  ${count} × ${words}`)
}

function ms(value: number): string {
  return `${Math.round(value)} ms`
}

function countsOf<T>(all: readonly T[], nameOf: (each: T) => string): string {
  const counts = new Map<string, number>()
  for (const each of all) counts.set(nameOf(each), (counts.get(nameOf(each)) ?? 0) + 1)
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ')
}
