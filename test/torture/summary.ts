import { isRecovered } from './check.ts'
import type { Evidence, Testimony } from './evidence.ts'

/** Counts for people. */
export function summaryText(evidence: Testimony, violations: readonly string[]): string {
  const { asks, jobs, records, executions } = evidence
  const ended = (outcome: string): number =>
    records.filter((record) => record.outcome === outcome).length
  const reRuns = records.filter(({ run }) => run > 1).length
  const recovered = records.filter(isRecovered).length
  const lines = [
    `asks            ${asks.length}`,
    `jobs            ${jobs.length}: ${ended('completed')} completed, ${ended('dead')} dead`,
    `runs            ${records.length} recorded, ${executions.length} executed`,
    `re-runs         ${reRuns}: ${ended('retried')} retries, ${recovered} recovered, ${ended('released')} released`,
    `interruptions   ${interruptionsText(evidence)}`,
    `history         ${factsText(evidence)}`,
    `violations      ${violations.length}`,
    ...violations.slice(0, MOST_SHOWN).map((violation) => `  ${violation}`),
  ]
  if (violations.length > MOST_SHOWN) lines.push(`  and ${violations.length - MOST_SHOWN} more`)
  return lines.join('\n')
}

const MOST_SHOWN = 20

function interruptionsText({ interruptions }: Evidence): string {
  return countsOf(interruptions) || 'none'
}

function factsText({ facts }: Testimony): string {
  return `${facts.length} facts: ${countsOf(facts)}`
}

function countsOf(all: readonly { readonly what: string }[]): string {
  const counts = new Map<string, number>()
  for (const { what } of all) counts.set(what, (counts.get(what) ?? 0) + 1)
  return [...counts].map(([what, count]) => `${count} ${what}`).join(', ')
}
