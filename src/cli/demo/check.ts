import type { Evidence } from './evidence.ts'
import type { Delivery } from './payloads.ts'
import { recount } from './recount.ts'
import { RULES } from './rules.ts'

/** One thing that must hold, and what speaks against it. */
export interface Finding {
  readonly rule: string
  readonly faults: readonly string[]
}

/**
 * Whether what the tables say adds up to what arrived. Pure: rows and payloads in, findings out, one
 * for each rule, whether it holds or not.
 */
export function check(evidence: Evidence, deliveries: readonly Delivery[]): readonly Finding[] {
  const facts = { evidence, deliveries, expected: recount(deliveries) }
  return RULES.map(({ rule, faults }) => ({ rule, faults: faults(facts) }))
}

export function addsUp(findings: readonly Finding[]): boolean {
  return findings.every(({ faults }) => faults.length === 0)
}
