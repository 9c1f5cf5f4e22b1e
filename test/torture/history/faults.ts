import { capFaults } from './caps.ts'
import { effectFaults } from './effects.ts'
import { eventFaults } from './events.ts'
import type { Fact } from './fact.ts'
import { fireFaults } from './fires.ts'
import { historyOf } from './history.ts'
import { jobFaults } from './jobs.ts'
import { lockFaults } from './locks.ts'
import { runFaults } from './runs.ts'
import { settlementFaults } from './settlements.ts'
import { timeFaults } from './times.ts'

/**
 * The promise of Millrace, held against a history: every acknowledged job ended exactly once or
 * still waits; no two runs of a job at once under valid leases; run numbers grow; effects of
 * `run.transaction` exactly once; nothing started before it was due or after it expired; caps never
 * exceeded; each boundary of a schedule once; each event seen by each consumer, in order; one holder
 * of a lock at a time, with growing tokens. Pure: facts in, one sentence for each fault out.
 */
export function faultsOf(
  facts: readonly Fact[],
  { skew = SKEW }: { readonly skew?: number } = {},
): readonly string[] {
  const history = historyOf(facts, skew)
  return RULES.flatMap((rule) => rule(history))
}

const SKEW = 250
const RULES = [
  jobFaults,
  runFaults,
  settlementFaults,
  effectFaults,
  timeFaults,
  capFaults,
  fireFaults,
  eventFaults,
  lockFaults,
]
