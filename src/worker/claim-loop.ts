import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { WakeHint } from '../database/hint.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { Claim, Claimer } from './claim.ts'
import type { Marks } from './marks.ts'
import type { Slots } from './slots.ts'

/**
 * The heart of a worker: claim as many as there are free slots, start them, and when nothing was
 * left sleep until something can be due. What may end the sleep: a hint from an enqueue, the soonest
 * job's time, a slot of a kind at its cap, or the poll, which is the truth when hints are lost.
 */
export interface ClaimLoop {
  run(): Promise<void>
  /** A hint from outside: something is, or will be, due. */
  hear(hint: WakeHint): void
  /** A slot was given back. */
  slotGiven(): void
  /** Ended runs were written: what waited because of them may go on. */
  caughtUp(): void
  stop(): void
  /** It sleeps, and nothing that it knows of is due. */
  readonly isResting: boolean
}

export interface ClaimLoopOptions {
  readonly clock: Clock
  readonly claimer: Claimer
  readonly slots: Slots
  readonly marks: Marks
  readonly queues: readonly string[]
  /** Whether a kind or a queue may be at its cap while the worker has slots. */
  readonly hasCaps: boolean
  /** The longest sleep right now: it depends on whether hints arrive. */
  readonly pollMs: () => number
  /** Too many ended runs wait to be written: no new ones until they are. */
  readonly isBehind: () => boolean
  readonly take: (rows: readonly ClaimedRow[]) => void
  /** What a claim brought that came after the stop: to be handed back. */
  readonly handBack: (rows: readonly ClaimedRow[]) => void
  readonly onFailure: (error: unknown) => void
}

// A job that is due but held by somebody: looked for again soon, and then less and less often (C7).
const FIRST_RETRY = 5
const LONGEST_RETRY = 1_000
const FIRST_FAILURE_PAUSE = 100
// No sleep is longer than this unless a walk from the start was begun after the claim before it.
const LOOK_BACK_BEFORE = 1_000

export function claimLoop(options: ClaimLoopOptions): ClaimLoop {
  const { clock, claimer, slots, marks } = options
  const alarm = bell(clock)
  let stopped = false
  let isFull = false
  let isQuiet = false
  let isResting = false
  let retry = FIRST_RETRY
  let failurePause = FIRST_FAILURE_PAUSE
  let cancelHint: (() => void) | undefined
  let hintedAt = Number.POSITIVE_INFINITY
  let lookingBack: Promise<void> | undefined

  function ring(): void {
    isResting = false
    alarm.ring()
  }

  async function run(): Promise<void> {
    while (!stopped) {
      isResting = false
      isFull = slots.free() === 0
      const mustWait = isFull || options.isBehind()
      const pause = await (mustWait ? meanwhile() : step())
      if (pause > 0 && !stopped) isQuiet = !(await alarm.wait(pause)) && pause > LOOK_BACK_BEFORE
    }
    cancelHint?.()
    await lookingBack
  }

  /** No slot is free: claims whose answers were lost are looked for all the same (C8). */
  async function meanwhile(): Promise<number> {
    await claimer.seekLost().catch(options.onFailure)
    return LONGEST_RETRY
  }

  /** One claim; gives how long to sleep after it, 0 to go on. */
  async function step(): Promise<number> {
    try {
      // Nothing was heard of for long: a look says whether a claim is worth while.
      const quiet = isQuiet ? await untilNextDue() : 0
      if (quiet > 0) return sleepFor(quiet)
      const claim = await claimer.claim()
      take(claim)
      failurePause = FIRST_FAILURE_PAUSE
      if (claim.jobs.length > 0) retry = FIRST_RETRY
      if (claim.hasMore) {
        lookBackBeside()
        return 0
      }
      return stopped ? 0 : sleepFor(await untilNextDue())
    } catch (error) {
      options.onFailure(error)
      failurePause = Math.min(LONGEST_RETRY, failurePause * 2)
      return failurePause
    }
  }

  function take(claim: Claim): void {
    if (stopped) options.handBack(claim.jobs)
    else options.take(claim.jobs)
  }

  async function untilNextDue(): Promise<number> {
    const due = await claimer.nextDue()
    const poll = options.pollMs()
    return due === null ? poll : Math.min(poll, due - clock.now())
  }

  function sleepFor(untilNext: number): number {
    const isLooking = lookBackBeside()
    if (untilNext <= 0) return nextRetry()
    isResting = true
    return isLooking ? untilNext : Math.min(untilNext, claimer.untilLookBack(), LOOK_BACK_BEFORE)
  }

  function nextRetry(): number {
    const pause = retry
    retry = Math.min(LONGEST_RETRY, retry * 2)
    return pause
  }

  /**
   * What committed late is looked for beside all else: the walk may be long, and its connection may
   * be busy or dead. What it finds ends the sleep; so does its failure, or nothing would repeat it.
   */
  function lookBackBeside(): boolean {
    if (!claimer.mayLookBack()) return false
    lookingBack = claimer.lookBack().then(
      (found) => {
        if (found) ring()
      },
      (error: unknown) => {
        options.onFailure(error)
        ring()
      },
    )
    return true
  }

  return {
    run,
    hear(hint) {
      if (hint.type === 'resync') {
        ring()
        return
      }
      if (hint.type !== 'due' || !options.queues.includes(hint.queue)) return
      marks.lowerQueue(hint.queue, hint.dueAt)
      if (hint.dueAt <= clock.now()) ring()
      else ringAt(hint.dueAt)
    },
    slotGiven() {
      if ((isFull && slots.free() > 0) || options.hasCaps) ring()
    },
    caughtUp: ring,
    stop() {
      stopped = true
      ring()
    },
    get isResting() {
      return isResting
    },
  }

  function ringAt(instant: number): void {
    if (instant >= hintedAt) return
    cancelHint?.()
    hintedAt = instant
    cancelHint = clock.after(instant - clock.now(), () => {
      hintedAt = Number.POSITIVE_INFINITY
      ring()
    })
  }
}
