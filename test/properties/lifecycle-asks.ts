import { AT_MOST, decisionOf, FIRST_CARRY, WINDOW } from './lifecycle-kinds.ts'
import type { KindName } from './lifecycle-kinds.ts'
import {
  entry,
  expire,
  isExpired,
  isPending,
  isRunning,
  jobsOf,
  keyText,
} from './lifecycle-model.ts'
import type { Job, Model, PendingJob } from './lifecycle-model.ts'

/** An enqueue, as the model and the mill are given it. Durations in milliseconds. */
export interface Ask {
  readonly id: string
  readonly kind: KindName
  /** Of a plain ask no key. */
  readonly key: string
  readonly v: number
  readonly queue: string
  readonly priority: number
  readonly leaseMs: number
  readonly delay: number | null
  readonly expires: number | null
}

export interface AskAnswer {
  readonly id: string
  readonly outcome: 'inserted' | 'kept' | 'replaced' | 'merged'
}

/** What spec §1 and §2 make of an ask. */
export function enqueue(model: Model, ask: Ask): AskAnswer {
  switch (ask.kind) {
    case 'plain':
      return repeated(model, ask) ?? insert(model, ask, {})
    case 'throttled':
      return throttled(model, ask)
    case 'folds':
    case 'debounced':
      return placed(model, ask) ?? repeated(model, ask) ?? met(model, ask)
    case 'live':
    case 'rerun':
      return repeated(model, ask) ?? live(model, ask)
  }
}

function live(model: Model, ask: Ask): AskAnswer {
  const running = jobsOf(model)
    .filter(isRunning)
    .find((job) => keyText(job) === keyText(ask) && !job.place.isCancelled)
  if (running !== undefined && ask.kind === 'live') return { id: running.id, outcome: 'kept' }
  // Decided by a look: what expired is moved only where its slot is needed.
  if (candidate(model, ask) !== undefined) return met(model, ask)
  return placed(model, ask, running !== undefined) ?? met(model, ask)
}

/** D7: one job a window, which outlives it. */
function throttled(model: Model, ask: Ask): AskAnswer {
  if (model.jobs.has(ask.id)) return { id: ask.id, outcome: 'kept' }
  const window = model.windows.get(ask.key)
  if (window !== undefined && window.until > model.now) return { id: window.id, outcome: 'kept' }
  model.windows.set(ask.key, { until: model.now + WINDOW, id: ask.id })
  return insert(model, ask, { isSibling: true })
}

/** E2: an id of which there is a record. */
function repeated(model: Model, { id }: Ask): AskAnswer | null {
  const own = model.jobs.get(id) ?? jobsOf(model).find((job) => job.asked.includes(id))
  return own === undefined ? null : { id: own.id, outcome: 'kept' }
}

/** D4: a first ask of its key; an expired job that held its slot moves to its end. */
function placed(model: Model, ask: Ask, isRerun = false): AskAnswer | null {
  sweep(model, ask)
  if (candidate(model, ask) !== undefined || repeated(model, ask) !== null) return null
  return insert(model, ask, { isRerun })
}

/** What an ask does first, by a statement that others may follow before the ask is decided. */
export function sweep(model: Model, ask: Ask): void {
  const holder = ofKey(model, ask).find((job) => !job.place.isSibling)
  if (holder !== undefined && isExpired(holder, model.now)) expire(model, holder)
}

/** D2: the oldest pending job of the key, and what becomes of the two. */
function met(model: Model, ask: Ask): AskAnswer {
  const job = candidate(model, ask)
  if (job === undefined) throw new Error(`the model has no job that ${ask.id} could meet`)
  const decision = ask.kind === 'folds' ? decisionOf(ask.v) : 'replace'
  if (decision === 'independent') return insert(model, ask, { isSibling: true })
  if (decision !== 'keep') fold(model, job, ask)
  if (decision === 'replace') Object.assign(job, { v: ask.v, carry: null, failures: 0 })
  if (decision === 'merge') {
    Object.assign(job, { v: job.v + ask.v, carry: (job.carry ?? FIRST_CARRY) + 1 })
  }
  if (decision === 'replace' && job.place.reason !== 'rerun') {
    job.place = { ...job.place, reason: null }
  }
  job.journal.push(entry('merged', job, ` ${decision} ${ask.id}`))
  job.asked.push(ask.id)
  return { id: job.id, outcome: OUTCOMES[decision] }
}

const OUTCOMES = { keep: 'kept', replace: 'replaced', merge: 'merged' } as const

function fold(model: Model, job: PendingJob, ask: Ask): void {
  const { place } = job
  const incoming = ask.expires === null ? null : model.now + ask.expires
  job.queue = ask.queue
  job.leaseMs = ask.leaseMs
  job.priority = Math.min(job.priority, ask.priority)
  job.place = {
    ...place,
    due: dueTogether(model, job, ask),
    expires: place.expires === null || incoming === null ? null : Math.max(place.expires, incoming),
  }
}

function dueTogether(model: Model, { place, kind, createdAt }: PendingJob, ask: Ask): number {
  if (place.reason === 'rerun') return place.due
  if (kind === 'debounced') return Math.min(createdAt + AT_MOST, model.now + WINDOW)
  return Math.min(place.due, model.now + (ask.delay ?? 0))
}

function candidate(model: Model, ask: Ask): PendingJob | undefined {
  return ofKey(model, ask).find((job) => !isExpired(job, model.now))
}

function ofKey(model: Model, ask: Ask): readonly PendingJob[] {
  return jobsOf(model)
    .filter(isPending)
    .filter((job) => keyText(job) === keyText(ask))
}

function insert(
  model: Model,
  ask: Ask,
  { isRerun = false, isSibling = false }: { isRerun?: boolean; isSibling?: boolean },
): AskAnswer {
  const { id, kind, v, queue, priority, leaseMs, expires } = ask
  const delay = kind === 'debounced' ? WINDOW : (ask.delay ?? 0)
  const job: Job = {
    id,
    kind,
    key: kind === 'plain' ? null : ask.key,
    createdAt: model.now,
    queue,
    priority,
    leaseMs,
    v,
    carry: null,
    run: 0,
    failures: 0,
    place: {
      state: 'pending',
      due: isRerun ? Number.POSITIVE_INFINITY : model.now + delay,
      expires: expires === null ? null : model.now + expires,
      reason: isRerun ? 'rerun' : null,
      isSibling,
    },
    journal: [],
    asked: [],
  }
  model.jobs.set(id, job)
  return { id, outcome: 'inserted' }
}
