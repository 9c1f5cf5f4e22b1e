import { instantText } from '../core/instant-text.ts'
import { wait } from '../core/wait.ts'
import type { Executor } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { ClosedError, DatabaseError } from '../errors.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { JobKind } from '../jobs/kind.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { QueueDecisions } from '../queues/decisions.ts'
import { checkClaim } from './claim-handles.ts'
import type { CheckedClaim, ClaimOptions } from './claim-handles.ts'
import { claimHandles } from './claim-statements.ts'
import type { ClaimedRow } from './claim-statements.ts'
import { inputOf } from './run-values.ts'
import { afterUndecodable } from './fate.ts'
import type { RunOfJob } from './fate.ts'
import { freedKeys } from './freed-keys.ts'
import { extendLease } from './handle-statements.ts'
import { handleOf } from './handle.ts'
import type { Handle } from './handle.ts'
import { marks } from './marks.ts'
import { inOrder, lanesOf, planClaim } from './probes.ts'
import { runState } from './run-state.ts'
import { settler } from './settle.ts'
import { settleStrictly } from './settle-strictly.ts'
import { strays } from './strays.ts'
import { tellStarted } from './told-runs.ts'
import { warnings } from './warnings.ts'

/**
 * Claims jobs for whoever settles them by hand (L4). One name a client owns all its handles, and a
 * claim whose answer was lost is looked for under it (C8): before the next try, and each second until
 * one lease has passed, so that its jobs come back without a failure. Strictly by level: a caller who
 * takes a few now and then has no share to keep.
 */
export interface HandleDesk {
  claim(options: ClaimOptions<readonly JobKind[]>): Promise<readonly Handle<JobKind>[]>
  /** Hands back what is undecided, and ends the search for lost claims. */
  close(): Promise<void>
}

export interface HandleDeskOptions {
  readonly worker: string
  readonly executor: Executor
  readonly decisions: QueueDecisions
  readonly hintUntil: () => string
}

const TRY_FOR = 10_000
const SEEK_FOR = 60_000
const SEEK_EVERY = 1_000
const PAUSES_KNOWN_FOR = 1_000

export function handleDesk(options: HandleDeskOptions): HandleDesk {
  const { worker, executor, decisions, hintUntil } = options
  const { clock } = executor
  const closing = new AbortController()
  const undecided = new Set<Handle<JobKind>>()
  const claims = new Set<Promise<unknown>>()
  const warn = warnings({ worker, origin: executor.origin, clock })
  const lost = strays({
    worker,
    clock,
    lane: executor.lane('maintenance'),
    // Claims have instants of their own here.
    roster: { has: () => false },
    seekMs: SEEK_FOR,
    hintUntil,
    events: executor.events,
  })
  const freed = freedKeys({
    lane: executor.lane('maintenance'),
    mayWait: () => true,
    hintUntil,
    onFailure: warn.of('asks that wait for a run could not be looked for'),
  })
  const settling = settler({
    worker,
    clock,
    lane: executor.lane('settle'),
    hintUntil,
    signal: closing.signal,
    onSettled: freed.ended,
    events: executor.events,
    onFailure: warn.of('handles could not be settled yet'),
  })
  let lastInstant = 0
  let turn = 0
  let seeking: Promise<void> | undefined

  async function claim(asked: CheckedClaim): Promise<readonly Handle<JobKind>[]> {
    if (asked.limit <= 0) return []
    await decisions.fresh(PAUSES_KNOWN_FOR)
    forgetLapsed()
    const end = clock.now() + TRY_FOR
    const rows = await repeat({ clock, until: () => end, signal: closing.signal }, () =>
      claimRows(asked),
    )
    const made = await Promise.all(rows.map((row) => handleFor(row, asked)))
    return made.filter((each) => each !== null)
  }

  async function claimRows({
    kinds,
    queues,
    limit,
    leaseMs,
  }: CheckedClaim): Promise<readonly ClaimedRow[]> {
    if (closing.signal.aborted) throw new ClosedError()
    await lost.returnAll()
    const names = [...kinds.keys()].map((name) => ({ name, concurrency: null }))
    const space = { queues, queueCaps: new Map(), lanes: lanesOf(names) }
    const room = {
      freeOfKind: () => limit,
      freeOfQueue: (queue: string) => (decisions.isPaused(queue) ? 0 : limit),
    }
    const plan = planClaim(space, { slots: room, marks: marks(), turn, most: limit })
    if (plan.rows.length === 0) return []
    turn += 1
    const instant = Math.max(clock.now(), lastInstant + 1)
    lastInstant = instant
    lost.begin(instant)
    try {
      const rows = await executor.lane('claim').run(claimHandles, {
        probes: JSON.stringify(plan.rows),
        most: limit,
        worker,
        lease_ms: leaseMs,
        now: instantText(instant),
      })
      lost.answered(instant)
      tellStarted(executor.events, rows, worker)
      return inOrder(rows, plan)
    } catch (error) {
      if (error instanceof DatabaseError && error.outcomeUnknown) seek(instant)
      else lost.answered(instant)
      throw error
    }
  }

  function seek(instant: number): void {
    lost.lost(instant)
    seeking ??= seekLost().finally(() => {
      seeking = undefined
    })
  }

  async function seekLost(): Promise<void> {
    while (lost.areSought && !closing.signal.aborted) {
      await wait(clock, SEEK_EVERY, closing.signal)
      await lost.returnAll().catch(warn.of('a lost claim could not be looked for'))
    }
  }

  /** Null where the job cannot be read: it has ended, dead. */
  async function handleFor(row: ClaimedRow, asked: CheckedClaim): Promise<Handle<JobKind> | null> {
    const policy = decodePolicy(row.options)
    const { job_id: id, run, failures } = row
    const job: RunOfJob = { id, run, failures, policy, remarks: {} }
    const kind = asked.kinds.get(row.kind)
    if (kind === undefined) return null
    const definition = definitionOf(kind)
    try {
      const input = await inputOf(row, kind)
      const state = runState(definition, input, row.carry)
      const leaseMs = asked.leaseMs ?? row.lease_ms
      const handle = handleOf(
        { row, job, definition, input, state, leaseMs },
        {
          clock,
          settle: ({ fate, leaseEndsAt }) => settle({ fate, of: row, leaseEndsAt }, asked),
          extend,
          onDecided: (decided) => undecided.delete(decided),
        },
      )
      undecided.add(handle)
      return handle
    } catch (error) {
      const fate = afterUndecodable(job, error)
      const leaseEndsAt = (): number => row.lease_ends_at
      await settling
        .settle({ fate, of: row, leaseEndsAt })
        .catch(warn.of('a claimed job cannot be read'))
      return null
    }
  }

  function settle(settled: Parameters<typeof settling.settle>[0], { isStrict }: CheckedClaim) {
    // Past the end of its lease a settlement is worth a few tries, too.
    const end = clock.now() + TRY_FOR
    const leaseEndsAt = (): number => Math.max(end, settled.leaseEndsAt())
    const settlement = { ...settled, leaseEndsAt }
    if (!isStrict) return settling.settle(settlement)
    const { signal } = closing
    const onSettled = freed.ended
    return settleStrictly(settlement, { worker, executor, hintUntil, signal, onSettled })
  }

  async function extend({ id, run }: RunOfJob, extendMs: number): Promise<number | null> {
    const end = clock.now() + TRY_FOR
    const params = { id, run, worker, extend_ms: extendMs }
    const [row] = await repeat({ clock, until: () => end, signal: closing.signal }, () =>
      executor.lane('renew').run(extendLease, params),
    )
    return row?.lease_ends_at ?? null
  }

  /** Handles that somebody dropped without a word: their jobs are recovered like those of a lost worker. */
  function forgetLapsed(): void {
    for (const handle of undecided) {
      if (handle.leaseEndsAt.getTime() < clock.now()) undecided.delete(handle)
    }
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    claims.add(work)
    void Promise.allSettled([work]).then(() => claims.delete(work))
    return work
  }

  return {
    claim: async (given) => tracked(claim(checkClaim(given))),
    async close() {
      closing.abort()
      // What a claim under way still brings goes back with the rest.
      await Promise.allSettled(claims)
      const released = [...undecided].map((handle) => handle.release())
      await Promise.allSettled(released)
      await seeking
      await freed.idle()
      await lost.returnAll().catch(warn.of('a lost claim could not be looked for'))
    },
  }
}
