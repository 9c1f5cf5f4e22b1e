import type { Clock } from '../core/clock.ts'
import { instantText } from '../core/instant-text.ts'
import type { Lane } from '../database/executor.ts'
import { DatabaseError } from '../errors.ts'
import type { QueueDecisions } from '../queues/decisions.ts'
import {
  claimJobs,
  claimJobsWithinCaps,
  lookBeforeMarks,
  nextDue,
  waitingLevels,
} from './claim-statements.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { levels } from './levels.ts'
import type { Marks } from './marks.ts'
import { inOrder, lowerMarks, planClaim, recordLook, recordWalk } from './probes.ts'
import type { ClaimPlan, ProbeSpace, Room } from './probes.ts'
import { alternating, isCut, shareOfQueue } from './queue-turns.ts'
import { forgetEmpty, withShares } from './shares.ts'
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
  /** More may wait: as many came as were asked for, or not everything was asked for. */
  readonly hasMore: boolean
}

export interface ClaimerOptions {
  readonly worker: string
  readonly clock: Clock
  /** How far the clock may be off, in milliseconds. */
  readonly errorMs: () => number
  readonly space: ProbeSpace
  readonly slots: Slots
  readonly marks: Marks
  readonly strays: Strays
  /** How many slots of a level there are to one of the next (C3); null: strictly by level. */
  readonly ratio: number | null
  /** Nothing is taken from a paused queue, and nothing in it is waited for (C5). */
  readonly queues: Pick<QueueDecisions, 'isPaused' | 'ready'>
  readonly claimLane: Lane
  readonly lookLane: Lane
}

// More in one statement gains nothing, and a claim that dies takes them all with it.
export const LARGEST_CLAIM = 500
const LOOK_BACK_EVERY = 1_000
const LOOK_AT_LEVELS_EVERY = 1_000
const LOOK_BACK_SHARE = 20
const TOLERATED_ERROR = 50
// A walk behind the marks is made while the worker is full, and for kinds at their cap, too.
const ROOM_FOR_ALL: Room = { freeOfKind: () => LARGEST_CLAIM, freeOfQueue: () => LARGEST_CLAIM }

/**
 * Over a slow network the clock may be ahead by half a round trip, and no job begins before it is due:
 * then a claim is of the instant that is certainly over. Its leases end so much sooner.
 */
function doubtful(errorMs: number): number {
  return errorMs > TOLERATED_ERROR ? Math.ceil(errorMs) : 0
}

export function claimer(options: ClaimerOptions): Claimer {
  const { worker, clock, space, slots, marks, strays, ratio } = options
  const known = levels()
  let turn = 0
  let hadMore = true
  let nextLookAtLevels = Number.NEGATIVE_INFINITY
  let nextLookBack = Number.NEGATIVE_INFINITY

  async function claim(): Promise<Claim> {
    await options.queues.ready(options.lookLane)
    await strays.returnAll()
    await lookAtLevels()
    const most = Math.min(LARGEST_CLAIM, slots.free())
    // What waits for slots is shared among the queues, so that they take turns as before.
    const share = shareOfQueue(most, { idle: slots.idle, queues: space.queues.length })
    const plan = planOf(most, share)
    if (plan.rows.length === 0) return { jobs: [], hasMore: false }
    // A machine that slept would claim with leases that are over already.
    await options.claimLane.ready()
    marks.walkBegins()
    const now = clock.now() - doubtful(options.errorMs())
    const jobs = inOrder(await take(plan, { most, now }), plan)
    recordWalk(plan, jobs, { space, marks, now, most })
    const claimed = recorded(plan, jobs, most)
    if (share === most) return claimed
    // What was cut at its share leaves as much waiting as a claim that was filled.
    hadMore ||= isCut(plan, jobs)
    return { jobs: alternating(jobs), hasMore: hadMore }
  }

  function planOf(most: number, share: number): ClaimPlan {
    const plan = planClaim(space, { slots: open(slots), marks, turn, most, share })
    return ratio === null ? plan : withShares(plan, { levels: known, ratio })
  }

  /** What the claim says of the levels, and whose turn it is next. */
  function recorded(plan: ClaimPlan, jobs: readonly ClaimedRow[], most: number): Claim {
    known.count(jobs)
    const isFull = jobs.length >= most
    // Where levels took turns not everything was asked for: what is left of the turn goes on with the next claim.
    const hasTurn = !isFull && plan.shared !== null
    if (hasTurn) forgetEmpty(plan, jobs, known)
    else turn += 1
    hadMore = isFull || hasTurn
    return { jobs, hasMore: hadMore }
  }

  /** Only while there is more work than slots: else every level gets all it wants. */
  async function lookAtLevels(): Promise<void> {
    if (ratio === null || !hadMore || clock.now() < nextLookAtLevels) return
    nextLookAtLevels = clock.now() + LOOK_AT_LEVELS_EVERY
    const plan = allProbes(slots)
    marks.walkBegins()
    const now = clock.now()
    const found = await options.claimLane.run(waitingLevels, {
      probes: JSON.stringify(plan.rows),
      now: instantText(now),
    })
    recordLook(plan, found, { space, marks, now })
    known.learn(found)
  }

  async function take(
    plan: ClaimPlan,
    { most, now }: { readonly most: number; readonly now: number },
  ): Promise<readonly ClaimedRow[]> {
    const statement = plan.mustCount ? claimJobsWithinCaps : claimJobs
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

  /** Paused queues are full, whatever else there is room for. */
  function open(room: Room): Room {
    return {
      freeOfKind: room.freeOfKind,
      freeOfQueue: (queue) => (options.queues.isPaused(queue) ? 0 : room.freeOfQueue(queue)),
    }
  }

  function allProbes(room: Room): ClaimPlan {
    return planClaim(space, { slots: open(room), marks, turn: 0, most: LARGEST_CLAIM })
  }

  function probes(room: Room): string {
    return JSON.stringify(allProbes(room).rows)
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
