import { definitionOf } from '../jobs/definition.ts'
import type { JobKind } from '../jobs/kind.ts'
import { DEFAULT_POLICY } from '../jobs/policy.ts'
import type { Roster } from './roster.ts'

/** How often lapsed leases are looked for, in milliseconds. */
export const RECOVER_EVERY = 10_000
const RECOVER_IDLE = 30_000
const RECOVER_APART = 500

/** No lease that is known of begins and lapses between two looks; where nothing runs here they may be rare. */
export function recoverEvery({ shortestLease: seen, size }: Roster, ofKinds: number): number {
  const shortest = Math.min(seen, ofKinds)
  if (shortest < RECOVER_EVERY) return Math.max(RECOVER_APART, shortest)
  return size === 0 ? Math.min(RECOVER_IDLE, shortest) : RECOVER_EVERY
}

/** Of the leases that these kinds ask for: others may hold them while nothing was run here yet. */
export function shortestLease(kinds: readonly JobKind[]): number {
  const leases = kinds.map((kind) => definitionOf(kind).settings.leaseMs ?? DEFAULT_POLICY.leaseMs)
  return Math.min(...leases)
}
