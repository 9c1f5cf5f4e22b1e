import type { Executor } from '../../src/database/executor.ts'
import { GiveUp, RetryIn } from '../../src/index.ts'
import { decodeJson, encodeJson } from '../../src/core/json.ts'
import type { Ask as PreparedAsk } from '../../src/jobs/ask.ts'
import { decodePolicy } from '../../src/jobs/policy.ts'
import { queueDecisions } from '../../src/queues/decisions.ts'
import { claimer } from '../../src/worker/claim.ts'
import type { Claimer } from '../../src/worker/claim.ts'
import type { ClaimedRow } from '../../src/worker/claim-statements.ts'
import {
  afterPause,
  afterRelease,
  afterReturn,
  afterThrow,
  afterUndecodable,
} from '../../src/worker/fate.ts'
import type { RunOfJob } from '../../src/worker/fate.ts'
import { freedKeys } from '../../src/worker/freed-keys.ts'
import type { FreedKeys } from '../../src/worker/freed-keys.ts'
import { renewLeases, saveCarry } from '../../src/worker/lease-statements.ts'
import { marks } from '../../src/worker/marks.ts'
import { lanesOf } from '../../src/worker/probes.ts'
import { recoverer } from '../../src/worker/recover.ts'
import type { FateRow } from '../../src/worker/settle-statements.ts'
import { settler } from '../../src/worker/settle.ts'
import { strays } from '../../src/worker/strays.ts'
import type { WorkerName } from './lifecycle-acts.ts'
import { WORKERS } from './lifecycle-follow.ts'
import type { Claimed } from './lifecycle-follow.ts'
import { KINDS } from './lifecycle-kinds.ts'
import type { Fate, Run } from './lifecycle-model.ts'

/** The parts of three workers: what their loops would do by themselves is done when it is told. */
export interface WorkerParts {
  claim(worker: WorkerName, once: boolean): Promise<readonly Claimed[]>
  settle(run: Run, fate: Fate, followUps: readonly PreparedAsk[]): Promise<boolean>
  checkpoint(run: Run, carry: number): Promise<boolean>
  /** How many leases were renewed. */
  renew(worker: WorkerName): Promise<number>
  /** It forgets its runs, as a process that died and came back by its name. */
  crash(worker: WorkerName): void
  recover(worker: WorkerName): Promise<void>
  learnPauses(): Promise<void>
}

interface Known {
  readonly row: ClaimedRow
  readonly worker: WorkerName
  isHeld: boolean
}

/** Anew for each sequence: nothing is known yet, no mark is set, no slot taken. */
export async function workerParts(statements: Executor): Promise<WorkerParts> {
  const { clock } = statements
  const lane = statements.lane('maintenance')
  const decisions = queueDecisions({ clock, asking: () => lane, isAlone: false })
  const known = new Map<string, Known>()
  const parts = new Map<WorkerName, Parts>()
  await decisions.reload(lane)

  function partsOf(worker: WorkerName): Parts {
    const made = parts.get(worker) ?? newParts(worker)
    parts.set(worker, made)
    return made
  }

  function newParts(worker: WorkerName): Parts {
    const lost = strays({
      worker,
      clock,
      lane,
      roster: { has: () => false },
      seekMs: 60_000,
      hintUntil,
    })
    const freed = freedKeys({ lane, mayWait: () => true, hintUntil, onFailure })
    const plan = WORKERS[worker]
    const own = (): readonly Known[] =>
      [...known.values()].filter((each) => each.worker === worker && each.isHeld)
    const count = (is: (row: ClaimedRow) => boolean): number =>
      own().filter(({ row }) => is(row)).length
    const free = (): number => plan.slots - own().length
    const fits = (cap: number | undefined, used: number): number =>
      Math.max(0, Math.min((cap ?? plan.slots) - used, free()))
    const names = Object.keys(KINDS).map((name) => ({
      name,
      concurrency: plan.kindCaps[name] ?? null,
    }))
    return {
      claimer: claimer({
        worker,
        clock,
        errorMs: () => 0,
        space: {
          queues: plan.queues,
          lanes: lanesOf(names),
          queueCaps: new Map(Object.entries(plan.queueCaps)),
        },
        slots: {
          free,
          freeOfKind: (kind) =>
            fits(
              plan.kindCaps[kind],
              count((row) => row.kind === kind),
            ),
          freeOfQueue: (queue) =>
            fits(
              plan.queueCaps[queue],
              count((row) => row.queue === queue),
            ),
          take: () => undefined,
          give: () => undefined,
          get busy() {
            return own().length
          },
          get idle() {
            return free()
          },
        },
        marks: marks(),
        strays: lost,
        ratio: plan.ratio,
        queues: decisions,
        claimLane: statements.lane('claim'),
        lookLane: lane,
      }),
      settler: settler({
        worker,
        clock,
        lane: statements.lane('settle'),
        hintUntil,
        signal: new AbortController().signal,
        onSettled: freed.ended,
        onFailure,
      }),
      freed,
      recoverer: recoverer({
        worker,
        clock,
        lane,
        roster: {
          ...NO_ROSTER,
          has: (id, run) => known.get(keyOf({ id, run, worker }))?.isHeld === true,
        },
        strays: lost,
        everyMs: () => 10_000,
        doubts: () => 0,
        hintUntil,
        onFailure,
      }),
    }
  }

  /** As the loop does: again while there is more, and soon where something is due all the same (C7). */
  async function claim(worker: WorkerName, once: boolean): Promise<readonly Claimed[]> {
    const { claimer: own } = partsOf(worker)
    const all: Claimed[] = []
    await own.lookBack()
    for (let again = true; again;) {
      const { jobs, hasMore } = await own.claim()
      again = !once && (hasMore || jobs.length > 0)
      for (const row of jobs) {
        known.set(keyOf({ id: row.job_id, run: row.run, worker }), { row, worker, isHeld: true })
        all.push(claimedFrom(row, worker))
      }
    }
    return all
  }

  async function settle(run: Run, fate: Fate, followUps: readonly PreparedAsk[]): Promise<boolean> {
    const each = known.get(keyOf(run))
    if (each === undefined) throw new Error(`nobody claimed ${keyOf(run)}`)
    each.isHeld = false
    const own = partsOf(each.worker)
    const applied = await own.settler.settle({
      fate: fateOf(each.row, fate),
      of: each.row,
      followUps,
      leaseEndsAt: () => each.row.lease_ends_at,
    })
    await own.freed.idle()
    return applied
  }

  async function renew(worker: WorkerName): Promise<number> {
    const runs = [...known.values()]
      .filter((each) => each.worker === worker && each.isHeld)
      .map(({ row }) => ({ id: row.job_id, run: row.run }))
    const held = await statements
      .lane('renew')
      .run(renewLeases, { runs: JSON.stringify(runs), worker })
    return held.length
  }

  return {
    claim,
    settle,
    renew,
    async checkpoint(run, carry) {
      const saved = await statements
        .lane('settle')
        .run(saveCarry, { ...run, carry: encodeJson({ n: carry }) })
      return saved.length > 0
    },
    crash(worker) {
      for (const each of known.values()) if (each.worker === worker) each.isHeld = false
    },
    async recover(worker) {
      await partsOf(worker).recoverer.sweep()
    },
    learnPauses: () => decisions.reload(lane),
  }
}

interface Parts {
  readonly claimer: Claimer
  readonly settler: ReturnType<typeof settler>
  /** Makes asks due that waited for what it settled. */
  readonly freed: FreedKeys
  readonly recoverer: ReturnType<typeof recoverer>
}

const NO_ROSTER = {
  add: () => undefined,
  remove: () => undefined,
  get: () => undefined,
  all: () => [].values(),
  size: 0,
  shortestLease: Number.POSITIVE_INFINITY,
}

function hintUntil(): string {
  return '-infinity'
}

function keyOf({ id, run, worker }: Run): string {
  return `${id} ${run} ${worker}`
}

function claimedFrom(row: ClaimedRow, worker: WorkerName): Claimed {
  return {
    id: row.job_id,
    kind: row.kind,
    run: row.run,
    worker,
    at: row.lease_ends_at - row.lease_ms,
    ends: row.lease_ends_at,
    failures: row.failures,
    v: numberIn(row.payload, 'v') ?? Number.NaN,
    carry: numberIn(row.carry, 'n'),
  }
}

/** A member of a JSON text; null where there is no text. */
export function numberIn(text: string | null, member: string): number | null {
  if (text === null) return null
  const value: unknown = decodeJson(text)
  if (typeof value !== 'object' || value === null) return Number.NaN
  return Number(Reflect.get(value, member))
}

/** What the worker would send of such an end. */
function fateOf(row: ClaimedRow, { how, ms, carry }: Fate): FateRow {
  const policy = decodePolicy(row.options)
  const { job_id: id, run, failures } = row
  const job: RunOfJob = { id, run, failures, policy, remarks: {} }
  const left = carry === null ? undefined : encodeJson({ n: carry })
  switch (how) {
    case 'complete':
      return afterReturn(job, encodeJson({ run }))
    case 'pause':
      return afterPause(job, { delayMs: ms ?? 0, carry: left })
    case 'retry':
      return afterThrow(job, ms === null ? new Error('as drawn') : new RetryIn(ms), left)
    case 'give-up':
      return afterThrow(job, new GiveUp('as drawn'), left)
    case 'undecodable':
      return afterUndecodable(job, new Error('as drawn'))
    case 'release':
    case 'lapse':
      return afterRelease(job)
  }
}

/** Nothing of this may fail. */
export function onFailure(error: unknown): never {
  throw error
}
