import { BACKOFF_BASE, KEEP, LIMIT } from './lifecycle-kinds.ts'
import type { KindName } from './lifecycle-kinds.ts'

/**
 * The whole life of jobs, without a database: what spec.md says of each move, on plain values.
 * Instants are milliseconds; everything happens at `now`.
 */
export interface Model {
  now: number
  readonly jobs: Map<string, Job>
  /** Of throttled keys. */
  readonly windows: Map<string, { readonly until: number; readonly id: string }>
  readonly paused: Set<string>
}

export interface Job {
  readonly id: string
  readonly kind: KindName
  readonly key: string | null
  readonly createdAt: number
  queue: string
  priority: number
  leaseMs: number
  v: number
  carry: number | null
  run: number
  failures: number
  place: Place
  readonly journal: string[]
  /** Asks that were merged into it. */
  readonly asked: string[]
}

export type Place = Pending | Running | Ended

export interface Pending {
  readonly state: 'pending'
  readonly due: number
  readonly expires: number | null
  readonly reason: string | null
  /** It stands beside the one job of its key that takes asks. */
  readonly isSibling: boolean
}

export interface Running {
  readonly state: 'running'
  readonly worker: string
  readonly ends: number
  readonly due: number
  readonly expires: number | null
  readonly isCancelled: boolean
}

export interface Ended {
  readonly state: 'completed' | 'dead' | 'cancelled'
  readonly reason: string | null
  readonly at: number
  readonly prune: number
}

/** Who runs what: the guard of everything a run writes (M5). */
export interface Run {
  readonly id: string
  readonly run: number
  readonly worker: string
}

export type PendingJob = Job & { place: Pending }
export type RunningJob = Job & { place: Running }

export function emptyModel(now: number): Model {
  return { now, jobs: new Map(), windows: new Map(), paused: new Set() }
}

export function isPending(job: Job): job is PendingJob {
  return job.place.state === 'pending'
}

export function isRunning(job: Job): job is RunningJob {
  return job.place.state === 'running'
}

export function isExpired({ place }: PendingJob, now: number): boolean {
  return place.expires !== null && place.expires <= now
}

/** By id, as everything is that has no order of its own. */
export function jobsOf(model: Model): readonly Job[] {
  return [...model.jobs.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** What a worker of these kinds and queues could take at this instant. */
export function claimable(model: Model, at: number): readonly PendingJob[] {
  return jobsOf(model)
    .filter(isPending)
    .filter((job) => job.place.due <= at && !isExpired(job, at) && !model.paused.has(job.queue))
}

export function claim(job: PendingJob, worker: string, at: number): void {
  const { due, expires } = job.place
  job.run += 1
  const ends = at + job.leaseMs
  Object.assign(job, {
    place: { state: 'running', worker, ends, due, expires, isCancelled: false },
  })
}

/** The run's job while its lease is still its own. */
export function held(model: Model, { id, run, worker }: Run): RunningJob | null {
  const job = model.jobs.get(id)
  if (job === undefined || !isRunning(job)) return null
  return job.run === run && job.place.worker === worker ? job : null
}

export interface Fate {
  readonly how: 'complete' | 'pause' | 'retry' | 'give-up' | 'undecodable' | 'release' | 'lapse'
  /** Of a pause, or of a retry that says when; null: by the backoff. */
  readonly ms: number | null
  /** What the run left; null: as it was. */
  readonly carry: number | null
}

/** The table of spec §5. False where the job ended in place of going on as the run said. */
export function settle(model: Model, job: RunningJob, fate: Fate): boolean {
  const { how } = fate
  if (how === 'complete') return end(model, job, { state: 'completed' })
  if (job.place.isCancelled) return !end(model, job, { state: 'cancelled' })
  const failures = job.failures + 1
  const { due } = job.place
  switch (how) {
    case 'pause':
      return again(job, {
        outcome: 'paused',
        reason: 'pause',
        due: model.now + (fate.ms ?? 0),
        ...left(fate),
      })
    case 'release':
      return again(job, { outcome: 'released', reason: 'release', due })
    case 'give-up':
      return end(model, job, { state: 'dead', reason: 'gave-up', failures })
    case 'undecodable':
      return end(model, job, { state: 'dead', reason: 'undecodable', failures })
    case 'retry':
    case 'lapse': {
      if (failures >= LIMIT) return end(model, job, { state: 'dead', reason: 'failed', failures })
      const next = model.now + (fate.ms ?? BACKOFF_BASE * failures)
      return how === 'retry'
        ? again(job, { outcome: 'retried', reason: 'retry', due: next, failures, ...left(fate) })
        : again(job, { outcome: 'stale-recovered', reason: 'recover', due: next, failures })
    }
  }
}

function left({ carry }: Fate): { carry?: number } {
  return carry === null ? {} : { carry }
}

interface Return {
  readonly outcome: string
  readonly reason: string
  readonly due: number
  readonly failures?: number
  readonly carry?: number
}

function again(job: RunningJob, { outcome, reason, due, ...rest }: Return): boolean {
  const { expires } = job.place
  Object.assign(job, rest)
  job.journal.push(entry(outcome, job))
  Object.assign(job, {
    place: { state: 'pending', due, expires, reason, isSibling: job.key !== null },
  })
  return true
}

export interface End {
  readonly state: Ended['state']
  readonly reason?: string
  readonly failures?: number
}

export function end(model: Model, job: Job, { state, reason, failures }: End): boolean {
  const prune = model.now + KEEP[state]
  job.failures = failures ?? job.failures
  job.place = { state, reason: reason ?? null, at: model.now, prune }
  return true
}

/** L3: what lapsed more than a second ago; what the sweeper holds by name and does not run goes back. */
export function recover(model: Model, sweeper: string, runs: (run: Run) => boolean): void {
  for (const job of jobsOf(model).filter(isRunning)) {
    const { worker, ends } = job.place
    if (ends >= model.now - 1_000) continue
    if (worker === sweeper && runs({ id: job.id, run: job.run, worker })) continue
    settle(model, job, { how: worker === sweeper ? 'release' : 'lapse', ms: null, carry: null })
  }
}

/** X1. Whether it applied. */
export function cancel(model: Model, job: Job, isForced: boolean): boolean {
  if (isPending(job) || (isRunning(job) && isForced)) return end(model, job, { state: 'cancelled' })
  if (!isRunning(job)) return false
  job.place = { ...job.place, isCancelled: true }
  return true
}

/** X2. */
export function redrive(model: Model, job: Job): boolean {
  const { place } = job
  if (place.state !== 'dead' && place.state !== 'cancelled') return false
  job.journal.push(entry(place.state, job))
  job.failures = 0
  job.journal.push(entry('redriven', job))
  const isSibling = job.key !== null
  job.place = { state: 'pending', due: model.now, expires: null, reason: 'redrive', isSibling }
  return true
}

/** X4. */
export function reschedule(
  model: Model,
  job: Job,
  to: { readonly delay: number | null; readonly priority: number | null },
): boolean {
  if (!isPending(job)) return false
  const { place } = job
  job.priority = to.priority ?? job.priority
  if (to.delay !== null) {
    const reason = place.reason === 'rerun' ? null : place.reason
    job.place = { ...place, due: model.now + to.delay, reason }
  }
  job.journal.push(entry('rescheduled', job))
  return true
}

/** E4 and H4: what expired ends, what is past its time goes. */
export function housekeep(model: Model): void {
  for (const job of jobsOf(model).filter(isPending)) {
    if (isExpired(job, model.now)) expire(model, job)
  }
  for (const { id, place } of jobsOf(model)) {
    if ('prune' in place && place.prune < model.now) model.jobs.delete(id)
  }
}

export function expire(model: Model, job: PendingJob): void {
  end(model, job, { state: 'dead', reason: 'expired' })
}

/** H4 by hand. How many went. */
export function cleanUp(model: Model, olderThan: number): number {
  const old = jobsOf(model).filter(({ place }) => 'at' in place && place.at < model.now - olderThan)
  for (const { id } of old) model.jobs.delete(id)
  return old.length
}

/** D1: asks that waited for a run of their key are due once none is under way. */
export function releaseReruns(model: Model): void {
  const running = new Set(jobsOf(model).filter(isRunning).map(keyText))
  for (const job of jobsOf(model).filter(isPending)) {
    if (job.place.reason !== 'rerun' || running.has(keyText(job))) continue
    job.place = { ...job.place, due: model.now, reason: null }
  }
}

export function keyText({ kind, key }: Pick<Job, 'kind' | 'key'>): string {
  return `${kind} ${key ?? ''}`
}

/** An entry of the journal as the tables' picture shows it. */
export function entry(outcome: string, { run, failures }: Job, decision = ''): string {
  return `${outcome} ${run}/${failures}${decision}`
}
