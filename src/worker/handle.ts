import type { Clock } from '../core/clock.ts'
import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { checkOptions } from '../core/names.ts'
import type { CarryOf, JobKind, NameOf, ParsedOf, ResultOf } from '../jobs/kind.ts'
import type { Definition } from '../jobs/definition.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { resultText } from './run-values.ts'
import { afterGiveUp, afterPause, afterRelease, afterReturn, afterThrow } from './fate.ts'
import type { RunOfJob } from './fate.ts'
import { pauseMs } from './run.ts'
import type { PauseUntil } from './run.ts'
import type { RunState } from './run-state.ts'
import type { FateRow } from './settle-statements.ts'

/**
 * A run in your own hands (L4): claimed by `mill.claim`, ended by one of its verbs. The rules are
 * those of workers, but nothing is done by itself: the lease is not renewed, the job's `timeout` is
 * not watched. Every verb answers whether it applied: false means that the run is not yours any more,
 * or was ended already, and nothing was written. A verb that throws has decided nothing.
 */
export interface Handle<K extends JobKind> extends AsyncDisposable {
  readonly id: string
  readonly kind: NameOf<K>
  readonly queue: string
  /** As the kind's schema gives it back. */
  readonly input: ParsedOf<K>
  /** The fencing number: 1 for the first run, growing, never used again. */
  readonly run: number
  /** Failures before this run. */
  readonly failures: number
  /** Until when nobody else takes it; moves with `heartbeat`. */
  readonly leaseEndsAt: Date
  /** What is kept between runs; written with `retry` and `pause`. */
  carry: CarryOf<K>
  /** The job is completed; the result is kept where the kind declares one. */
  complete(
    ...result: undefined extends ResultOf<K> ? [result?: ResultOf<K>] : [result: ResultOf<K>]
  ): Promise<boolean>
  /**
   * A failure: due again after `delay`, by default the job's backoff; dead at its limit. `error` is
   * what is recorded.
   */
  retry(options?: { delay?: Duration | undefined; error?: unknown }): Promise<boolean>
  /** Dead at once, whatever failures it has left. */
  fail(error: unknown): Promise<boolean>
  /** Due again later, without a failure. */
  pause(until: PauseUntil): Promise<boolean>
  /** Back to its place in line, without a failure. Leaving the scope of `await using` does it too. */
  release(): Promise<boolean>
  /** The lease ends so long from now, by default as long as it was; past its end this is refused. */
  heartbeat(extend?: Duration): Promise<boolean>
}

/** A handle of one of these kinds: `handle.kind` narrows input, carry and result. */
export type JobHandle<K extends JobKind = JobKind> = K extends JobKind ? Handle<K> : never

export interface HandleParts {
  readonly row: ClaimedRow
  readonly job: RunOfJob
  readonly definition: Definition
  readonly input: unknown
  readonly state: RunState
  readonly leaseMs: number
}

/** What a handle asks of the client that claimed it. */
export interface HandleServices {
  readonly clock: Clock
  /** Writes a fate; false: the run is somebody else's. */
  readonly settle: (settled: Settled) => Promise<boolean>
  /** Moves the end of the lease; null: it is over, or somebody else's. */
  readonly extend: (job: RunOfJob, extendMs: number) => Promise<number | null>
  readonly onDecided: (handle: Handle<JobKind>) => void
}

export interface Settled {
  readonly fate: FateRow
  readonly leaseEndsAt: () => number
}

export function handleOf(parts: HandleParts, services: HandleServices): Handle<JobKind> {
  const { row, job, definition, state, leaseMs } = parts
  let leaseEndsAt = row.lease_ends_at
  let decision: Promise<boolean> | undefined

  /** One verb decides; those after it find that it did, unless it threw. */
  async function decide(fateOf: () => FateRow): Promise<boolean> {
    const earlier = decision
    if (earlier !== undefined && (await isMade(earlier))) return false
    // Another one may have been faster meanwhile.
    if (decision !== earlier) return decide(fateOf)
    const made = settle(fateOf())
    decision = made
    return made
  }

  async function settle(fate: FateRow): Promise<boolean> {
    const applied = await services.settle({ fate, leaseEndsAt: () => leaseEndsAt })
    services.onDecided(handle)
    return applied
  }

  function afterRetry({ delay, error }: { delay?: unknown; error?: unknown }): FateRow {
    const cause = error ?? new Error('handed back as failed, without an error')
    const fate = afterThrow(job, cause, state.changedCarry())
    if (delay === undefined || fate.outcome !== 'retried') return fate
    return { ...fate, delay_ms: milliseconds('delay', delay, { zero: true }) }
  }

  const handle: Handle<JobKind> = {
    id: job.id,
    kind: row.kind,
    queue: row.queue,
    input: parts.input,
    run: job.run,
    failures: job.failures,
    get leaseEndsAt() {
      return new Date(leaseEndsAt)
    },
    get carry() {
      return state.carry
    },
    set carry(value) {
      state.carry = value
    },
    complete: (result?: unknown) => decide(() => afterReturn(job, resultText(definition, result))),
    async retry(options = {}) {
      checkOptions('retry()', options, ['delay', 'error'])
      return decide(() => afterRetry(options))
    },
    fail: (error) => decide(() => afterGiveUp(job, error)),
    pause: (until) =>
      decide(() => {
        const delayMs = pauseMs(until, services.clock.now())
        return afterPause(job, { delayMs, carry: state.changedCarry() })
      }),
    release: () => decide(() => afterRelease(job)),
    async heartbeat(extend) {
      const extendMs = extend === undefined ? leaseMs : milliseconds('extend', extend)
      if (decision !== undefined && (await isMade(decision))) return false
      const ends = await services.extend(job, extendMs)
      if (ends === null) return false
      leaseEndsAt = Math.max(leaseEndsAt, ends)
      return true
    },
    async [Symbol.asyncDispose]() {
      await handle.release()
    },
  }
  return handle
}

/** Whether a verb decided: one that threw did not. */
function isMade(decision: Promise<boolean>): Promise<boolean> {
  return decision.then(
    () => true,
    () => false,
  )
}
