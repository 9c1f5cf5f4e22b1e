import type { Clock } from '../core/clock.ts'
import { instantText } from '../core/instant-text.ts'
import type { Lane } from '../database/executor.ts'
import { DatabaseError } from '../errors.ts'
import { claimJobs, claimJobsWithinCaps, lookBeforeMarks, nextDue } from './claim-statements.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { Marks } from './marks.ts'
import { inOrder, lowerMarks, planClaim, recordWalk } from './probes.ts'
import type { ProbeSpace, Room } from './probes.ts'
import type { Slots } from './slots.ts'
import type { Strays } from './strays.ts'

/**
 * Takes due jobs, as many as there are free slots, in one statement. Between claims it knows where
 * to look next (marks), when something will be due, and which claims have no answer yet.
 */
export interface Claimer {
  claim(): Promise<Claim>
  /** Gives back what claims took whose answers were lost; each claim begins with it. */
  seekLost(): Promise<void>
  /** When the soonest job of these queues is due, in milliseconds since the epoch; null when none waits. */
  nextDue(): Promise<number | null>
  /** Looks for due rows before the marks, on another connection, and lowers the marks to them. */
  lookBack(): Promise<boolean>
  /** Whether looking back now costs little enough: at least a second, and 20 times its last duration, ago. */
  mayLookBack(): boolean
  /** In how many milliseconds it may look back again. */
  untilLookBack(): number
}

export interface Claim {
  readonly jobs: readonly ClaimedRow[]
  /** As many as were asked for: more may wait. */
  readonly isFull: boolean
}

export interface ClaimerOptions {
  readonly worker: string
  readonly clock: Clock
  readonly space: ProbeSpace
  readonly slots: Slots
  readonly marks: Marks
  readonly strays: Strays
  readonly claimLane: Lane
  readonly lookLane: Lane
}

// More in one statement gains nothing, and a claim that dies takes them all with it.
export const LARGEST_CLAIM = 500
const LOOK_BACK_EVERY = 1_000
const LOOK_BACK_SHARE = 20
// A walk behind the marks is made while the worker is full, and for kinds at their cap, too.
const ROOM_FOR_ALL: Room = { freeOfKind: () => LARGEST_CLAIM, freeOfQueue: () => LARGEST_CLAIM }

export function claimer(options: ClaimerOptions): Claimer {
  const { worker, clock, space, slots, marks, strays } = options
  let turn = 0
  let nextLookBack = Number.NEGATIVE_INFINITY

  async function claim(): Promise<Claim> {
    await strays.returnAll()
    const most = Math.min(LARGEST_CLAIM, slots.free())
    const plan = planClaim(space, { slots, marks, turn, most })
    if (plan.rows.length === 0) return { jobs: [], isFull: false }
    turn += 1
    // A machine that slept would claim with leases that are over already.
    await options.claimLane.ready()
    marks.walkBegins()
    const now = clock.now()
    const jobs = inOrder(await take(plan, { most, now }), plan)
    recordWalk(plan, jobs, { space, marks, now, most })
    return { jobs, isFull: jobs.length >= most }
  }

  async function take(
    plan: ReturnType<typeof planClaim>,
    { most, now }: { readonly most: number; readonly now: number },
  ): Promise<readonly ClaimedRow[]> {
    const statement = plan.hasCaps ? claimJobsWithinCaps : claimJobs
    strays.begin(now)
    try {
      const jobs = await options.claimLane.run(statement, {
        probes: JSON.stringify(plan.rows),
        most,
        worker,
        now: instantText(now),
      })
      strays.answered(now)
      return jobs
    } catch (error) {
      if (error instanceof DatabaseError && error.outcomeUnknown) strays.lost(now)
      else strays.answered(now)
      throw error
    }
  }

  function probes(room: Room): string {
    const all = planClaim(space, { slots: room, marks, turn: 0, most: LARGEST_CLAIM })
    return JSON.stringify(all.rows)
  }

  return {
    claim,
    seekLost: strays.returnAll,
    async nextDue() {
      const [row] = await options.claimLane.run(nextDue, { probes: probes(slots) })
      return row?.due_at ?? null
    },
    async lookBack() {
      if (!marks.areSet) return false
      const began = clock.now()
      // One at a time: until it is done nobody may.
      nextLookBack = Number.POSITIVE_INFINITY
      try {
        const hidden = await options.lookLane.run(lookBeforeMarks, { probes: probes(ROOM_FOR_ALL) })
        return lowerMarks(hidden, space, marks)
      } finally {
        const took = clock.now() - began
        nextLookBack = clock.now() + Math.max(LOOK_BACK_EVERY, LOOK_BACK_SHARE * took)
      }
    },
    mayLookBack: () => clock.now() >= nextLookBack,
    untilLookBack: () => Math.max(0, nextLookBack - clock.now()),
  }
}
