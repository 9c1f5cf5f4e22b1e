import { isDeepStrictEqual } from 'node:util'
import type { Act, Which, WorkerName } from './lifecycle-acts.ts'
import { enqueue } from './lifecycle-asks.ts'
import type { AskAnswer } from './lifecycle-asks.ts'
import {
  cancel,
  claim,
  claimable,
  cleanUp,
  held,
  housekeep,
  jobsOf,
  recover,
  redrive,
  reschedule,
  settle,
} from './lifecycle-model.ts'
import type { KindName } from './lifecycle-kinds.ts'
import type { Job, Model, PendingJob, Run } from './lifecycle-model.ts'

/** What a mill answered to an act; null where there is nothing to answer. */
export type Answer = null | boolean | number | AskAnswer | Changed | readonly Claimed[]

interface Changed {
  readonly matched: number
  readonly applied: number
}

/** What was done, and what the mill said to it. */
export interface Done {
  readonly act: Act
  readonly answer: Answer
  /** Nothing else was done at the same time. */
  readonly isAlone: boolean
}

/** A row that a claim took. */
export interface Claimed extends Run {
  readonly kind: string
  readonly at: number
  readonly ends: number
  readonly failures: number
  readonly v: number
  readonly carry: number | null
}

/** What each worker claims: which slots it has in all, of a kind and of a queue. */
export interface WorkerPlan {
  readonly queues: readonly string[]
  readonly slots: number
  readonly kindCaps: Readonly<Record<string, number>>
  readonly queueCaps: Readonly<Record<string, number>>
  readonly ratio: number | null
}

export const WORKERS: Readonly<Record<WorkerName, WorkerPlan>> = {
  ada: { queues: ['one', 'two'], slots: 3, kindCaps: {}, queueCaps: {}, ratio: null },
  bob: { queues: ['one'], slots: 2, kindCaps: {}, queueCaps: {}, ratio: 2 },
  cyd: {
    queues: ['two', 'one'],
    slots: 4,
    kindCaps: { folds: 1 },
    queueCaps: { two: 2 },
    ratio: 4,
  },
}

/** A run with what its slot was taken for. */
export interface Slot extends Run {
  readonly kind: KindName
  readonly queue: string
}

/** What the workers know of: their runs, until they settle or lose them. */
export interface Runs {
  readonly held: Slot[]
  /** All there ever were. */
  readonly begun: Slot[]
}

export function isSame(a: Run, b: Run): boolean {
  return a.id === b.id && a.run === b.run && a.worker === b.worker
}

/**
 * Does the act to the model, and says what of the mill's answer the model does not agree with; null
 * where it agrees. What a claim takes is the mill's to choose, within the rules.
 */
export function follow(model: Model, runs: Runs, { act, answer, isAlone }: Done): string | null {
  switch (act.do) {
    case 'enqueue':
      return expected(enqueue(model, act.ask), answer)
    case 'claim':
      return claimed(model, runs, { worker: act.worker, answer, isAlone: isAlone && !act.once })
    case 'settle':
      return expected(settled(model, runs, act), answer)
    case 'checkpoint':
      return expected(checkpointed(model, act.run, act.carry), answer)
    case 'renew':
      return expected(renewed(model, runs, act.worker), answer)
    case 'crash':
      forget(runs, ({ worker }) => worker === act.worker)
      return expected(null, answer)
    case 'recover':
      recover(model, act.worker, (run) => runs.held.some((each) => isSame(each, run)))
      return expected(null, answer)
    case 'cancel':
      return changed(model, (job) => cancel(model, job, act.force), {
        which: act.which,
        answer,
        isAlone,
      })
    case 'redrive':
      return changed(model, (job) => redrive(model, job), { which: act.which, answer, isAlone })
    case 'reschedule':
      return changed(model, (job) => reschedule(model, job, act), {
        which: act.which,
        answer,
        isAlone,
      })
    case 'pause':
      model.paused.add(act.queue)
      return expected(null, answer)
    case 'resume':
      model.paused.delete(act.queue)
      return expected(null, answer)
    case 'housekeep':
      housekeep(model)
      return expected(null, answer)
    case 'clean up':
      return expected(cleanUp(model, act.olderThan), answer)
    case 'wait':
      model.now += act.ms
      return expected(null, answer)
  }
}

function expected(wanted: Answer, answer: Answer): string | null {
  if (isDeepStrictEqual(wanted, answer)) return null
  return `the model expects ${JSON.stringify(wanted)}, the mill answered ${JSON.stringify(answer)}`
}

function forget(runs: Runs, which: (run: Run) => boolean): void {
  runs.held.splice(0, runs.held.length, ...runs.held.filter((run) => !which(run)))
}

function settled(model: Model, runs: Runs, act: Extract<Act, { do: 'settle' }>): boolean {
  forget(runs, (run) => isSame(run, act.run))
  const job = held(model, act.run)
  if (job === null) return false
  const isAsSaid = settle(model, job, act.fate)
  if (act.follow !== null && isAsSaid && FOLLOWED.has(act.fate.how)) enqueue(model, act.follow)
  return true
}

// O5: after a return or a pause.
const FOLLOWED: ReadonlySet<string> = new Set(['complete', 'pause'])

function checkpointed(model: Model, run: Run, carry: number): boolean {
  const job = held(model, run)
  if (job !== null) job.carry = carry
  return job !== null
}

/** L1: also a lease that has ended, while nobody took it. */
function renewed(model: Model, runs: Runs, worker: string): number {
  const jobs = runs.held
    .filter((run) => run.worker === worker)
    .flatMap((run) => held(model, run) ?? [])
  for (const job of jobs) {
    job.place = { ...job.place, ends: Math.max(job.place.ends, model.now + job.leaseMs) }
  }
  return jobs.length
}

function changed(
  model: Model,
  change: (job: Job) => boolean,
  { which, answer, isAlone }: Omit<Done, 'act'> & { readonly which: Which },
): string | null {
  const meant = jobsOf(model).filter((job) =>
    'id' in which ? job.id === which.id : job.kind === which.kind,
  )
  const applied = meant.filter((job) => change(job)).length
  if ('id' in which) return expected({ matched: meant.length, applied }, answer)
  // A filter means those only that can be changed; one of them may move before it is.
  const isLess = !isAlone && isChanged(answer) && answer.matched > applied
  return expected({ matched: isLess ? answer.matched : applied, applied }, answer)
}

function isChanged(answer: Answer): answer is Changed {
  return typeof answer === 'object' && answer !== null && 'matched' in answer
}

/** C1–C4: what was taken could be, in the right order, and nothing is left that had room. */
function claimed(
  model: Model,
  runs: Runs,
  { worker, answer, isAlone }: Omit<Done, 'act'> & { readonly worker: WorkerName },
): string | null {
  if (!Array.isArray(answer)) return 'a claim answers rows'
  const plan = WORKERS[worker]
  for (const row of answer) {
    const before = model.jobs.get(row.id)
    if (before !== undefined && !roomOf(runs, worker)(before)) return `${row.id} had no slot`
    const problem = took(model, row, { worker, isAlone })
    if (problem !== null) return `${row.id}: ${problem}`
    const { kind, queue } = model.jobs.get(row.id) ?? never(row.id)
    const slot: Slot = { id: row.id, run: row.run, worker, kind, queue }
    runs.held.push(slot)
    runs.begun.push(slot)
  }
  // What somebody else holds at the moment is skipped.
  if (!isAlone) return null
  const left = claimable(model, model.now).filter(({ queue }) => plan.queues.includes(queue))
  const room = roomOf(runs, worker)
  const missed = left.find((job) => room(job))
  return missed === undefined ? null : `${missed.id} had a free slot and was left`
}

function took(
  model: Model,
  row: Claimed,
  { worker, isAlone }: { readonly worker: WorkerName; readonly isAlone: boolean },
): string | null {
  const job = claimable(model, row.at).find(({ id }) => id === row.id)
  if (job === undefined) return 'could not be claimed'
  if (row.at < model.now || row.at > model.now + 10)
    return `claimed at ${row.at}, it is ${model.now}`
  if (isAlone && WORKERS[worker].ratio === null) {
    const better = claimable(model, model.now).find((other) => isBetter(other, job))
    if (better !== undefined) return `${better.id} comes first`
  }
  claim(job, worker, row.at)
  const { id, kind, run, failures, v, carry } = job
  const wanted = {
    id,
    kind,
    run,
    worker,
    at: row.at,
    ends: row.at + job.leaseMs,
    failures,
    v,
    carry,
  }
  return isDeepStrictEqual(wanted, { ...row })
    ? null
    : `claimed as ${JSON.stringify(row)}, not ${JSON.stringify(wanted)}`
}

function isBetter(a: PendingJob, b: PendingJob): boolean {
  if (a.queue !== b.queue) return false
  return (
    (a.priority - b.priority ||
      a.place.due - b.place.due ||
      (a.id < b.id ? -1 : Number(a.id > b.id))) < 0
  )
}

function roomOf({ held: slots }: Runs, worker: WorkerName): (job: Job) => boolean {
  const plan = WORKERS[worker]
  const own = slots.filter((slot) => slot.worker === worker)
  const used = (is: (slot: Slot) => boolean): number => own.filter(is).length
  return (job) =>
    own.length < plan.slots &&
    used(({ kind }) => kind === job.kind) < (plan.kindCaps[job.kind] ?? plan.slots) &&
    used(({ queue }) => queue === job.queue) < (plan.queueCaps[job.queue] ?? plan.slots)
}

function never(id: string): never {
  throw new Error(`the model lost ${id}`)
}
