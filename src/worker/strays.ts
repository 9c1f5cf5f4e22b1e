import { instantText } from '../core/instant-text.ts'
import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import type { Lane } from '../database/executor.ts'
import { decodePolicy } from '../jobs/policy.ts'
import { afterRelease } from './fate.ts'
import { strayLeases } from './lease-statements.ts'
import type { LapsedRow } from './lease-statements.ts'
import type { Roster } from './roster.ts'
import { recoverRuns } from './settle-statements.ts'
import { tellSettled } from './told-runs.ts'

/**
 * Claims whose answers did not arrive (C8). The statement may have committed, and may still commit
 * after a first look: so the leases it made, known by the instant of the claim, are looked for before
 * the next claim and again until one lease has passed, and go back to their place without a failure.
 */
export interface Strays {
  begin(instant: number): void
  answered(instant: number): void
  lost(instant: number): void
  /** Whether a lease of this worker belongs to a claim still under way, or lost and looked for here. */
  isUnderWay(startedAt: number): boolean
  /** Looks for leases of lost claims and puts their jobs back. */
  returnAll(): Promise<void>
  /** Whether any claim is being looked for. */
  readonly areSought: boolean
}

export interface StraysOptions {
  readonly worker: string
  readonly clock: Clock
  readonly lane: Lane
  /** What lives here is no stray, though its claim may be of the same millisecond. */
  readonly roster: Pick<Roster, 'has'>
  /** A lost claim is looked for this long: one lease. */
  readonly seekMs: number
  readonly hintUntil: () => string
  readonly events?: JobEvents | undefined
}

export function strays(options: StraysOptions): Strays {
  const { worker, clock, lane, roster } = options
  // How many of an instant: a claim and a start may leave in the same millisecond.
  const underWay = new Map<number, number>()
  const lost = new Map<number, number>()

  async function returnAll(): Promise<void> {
    if (lost.size === 0) return
    const leases = await leasesOfLost()
    if (leases.length > 0) {
      const rows = await lane.run(recoverRuns, {
        fates: JSON.stringify(leases.map(released)),
        recovered_by: null,
        lapsed_before: 'infinity',
        hint_until: options.hintUntil(),
      })
      tellSettled(options.events, rows)
    }
    for (const [instant, until] of lost) if (clock.now() > until) lost.delete(instant)
  }

  async function leasesOfLost(): Promise<readonly LapsedRow[]> {
    // What a statement of the same instant makes now is no stray; the next look is soon enough.
    const instants = [...lost.keys()].filter((each) => !underWay.has(each)).map(quoted)
    if (instants.length === 0) return []
    const rows = await lane.run(strayLeases, { worker, instants: `{${instants.join(',')}}` })
    return rows.filter((row) => !roster.has(row.job_id, row.run))
  }

  function over(instant: number): void {
    const left = (underWay.get(instant) ?? 0) - 1
    if (left > 0) underWay.set(instant, left)
    else underWay.delete(instant)
  }

  return {
    begin: (instant) => void underWay.set(instant, (underWay.get(instant) ?? 0) + 1),
    answered: over,
    lost(instant) {
      over(instant)
      lost.set(instant, clock.now() + options.seekMs)
    },
    isUnderWay: (startedAt) => underWay.has(startedAt),
    returnAll,
    get areSought() {
      return lost.size > 0
    },
  }
}

function quoted(instant: number): string {
  return `"${instantText(instant)}"`
}

function released(lease: LapsedRow): ReturnType<typeof afterRelease> & { worker: string } {
  const policy = decodePolicy(lease.options)
  return { ...afterRelease({ id: lease.job_id, run: lease.run, policy }), worker: lease.worker }
}
