import type { RecordedError } from '../core/recorded-error.ts'
import type { CarryOf, InputOf, JobKind, NameOf, ResultOf } from './kind.ts'

/** Where a job stands. `pending` and `running` jobs live; the other three have ended. */
export type JobState = 'pending' | 'running' | 'completed' | 'dead' | 'cancelled'

/** What became of an ask. */
export type EnqueueOutcome = 'inserted' | 'kept' | 'replaced' | 'merged'

/** The answer to an enqueue. */
export interface EnqueueResult {
  /** The job that will run: the asked one, or the one it was folded into. */
  readonly id: string
  readonly outcome: EnqueueOutcome
  /** The id this ask carried; equals `id` when inserted. Repeat an enqueue with it. */
  readonly asked: string
}

/** What is known of a job in every state. */
export interface JobFacts<K extends JobKind = JobKind> {
  readonly id: string
  readonly kind: NameOf<K>
  readonly queue: string
  /** 0 (first) to 9 (last). */
  readonly priority: number
  readonly dedupKey: string | null
  /** As stored: what was given to enqueue, not the schema's output. */
  readonly input: InputOf<K>
  /** What its runs have left for the next one; null while it is the kind's default, or the kind has none. */
  readonly carry: CarryOf<K> | null
  /** Runs begun. */
  readonly run: number
  readonly failures: number
  /** The job is dead at this failure. */
  readonly failureLimit: number
  readonly createdAt: Date
  readonly schedule: { readonly name: string; readonly boundary: Date } | null
}

/** A job that waits for a worker, for its time, or for its next try. */
export type PendingJob<K extends JobKind = JobKind> = JobFacts<K> & {
  readonly state: 'pending'
  readonly waiting: 'due' | 'scheduled' | 'retrying' | 'paused'
  readonly dueAt: Date
  readonly expiresAt: Date | null
}

/** A job that a worker holds. */
export type RunningJob<K extends JobKind = JobKind> = JobFacts<K> & {
  readonly state: 'running'
  readonly worker: string
  readonly startedAt: Date
  readonly leaseEndsAt: Date
  readonly cancelRequestedAt: Date | null
  /** What the run last said of it; null when it said nothing. */
  readonly progress: Progress | null
}

/** How far a run is, as `run.progress(done, total)` said. */
export interface Progress {
  readonly done: number
  /** Null where the run does not know. */
  readonly total: number | null
}

/** What is known of a job that has ended. */
export interface Ended {
  readonly finishedAt: Date
  /** Of the last run; null if there was none. */
  readonly startedAt: Date | null
  readonly worker: string | null
  readonly note: string | null
  readonly attachment: unknown
  /** When its record is deleted; null is never. */
  readonly keptUntil: Date | null
}

export type CompletedJob<K extends JobKind = JobKind> = JobFacts<K> &
  Ended & { readonly state: 'completed'; readonly result: ResultOf<K> }

export type DeadJob<K extends JobKind = JobKind> = JobFacts<K> &
  Ended & {
    readonly state: 'dead'
    readonly reason: DeadReason
    readonly error: RecordedError | null
  }

/** Why a job died: it failed too often, gave up, was not begun in time, or its input could not be read. */
export type DeadReason = 'failed' | 'gave-up' | 'expired' | 'undecodable'

export type CancelledJob<K extends JobKind = JobKind> = JobFacts<K> &
  Ended & { readonly state: 'cancelled'; readonly by: string | null; readonly why: string | null }

export type FinishedJob<K extends JobKind = JobKind> =
  | CompletedJob<K>
  | DeadJob<K>
  | CancelledJob<K>

/** A job as it stands now; `state` tells which members there are. */
export type JobRecord<K extends JobKind = JobKind> = PendingJob<K> | RunningJob<K> | FinishedJob<K>

/** What the journal says about every entry. */
export interface Entry {
  readonly jobId: string
  readonly at: Date
  readonly note: string | null
  readonly attachment: unknown
}

/** What the journal says about a run. */
export interface RunEntry extends Entry {
  readonly run: number
  readonly worker: string
  readonly startedAt: Date
  readonly durationMs: number
}

/** One run of a job, or one decision about it, oldest first. */
export type JournalEntry =
  | (RunEntry & { readonly outcome: 'completed' | 'released' })
  | (RunEntry & { readonly outcome: 'paused'; readonly dueAt: Date })
  | (RunEntry & {
      readonly outcome: 'retried'
      readonly error: RecordedError
      readonly failures: number
      readonly dueAt: Date
    })
  | (RunEntry & {
      readonly outcome: 'stale-recovered'
      readonly recoveredBy: string
      readonly failures: number
      readonly dueAt: Date | null
    })
  | (Entry & {
      readonly outcome: 'dead'
      readonly run: number
      readonly reason: DeadReason
      readonly error: RecordedError | null
    })
  | (Entry & {
      readonly outcome: 'cancelled'
      readonly run: number
      readonly by: string | null
      readonly why: string | null
    })
  | (Entry & {
      readonly outcome: 'merged'
      readonly decision: 'keep' | 'replace' | 'merge'
      readonly asked: string
    })
  | (Entry & {
      readonly outcome: 'redriven' | 'rescheduled'
      readonly by: string | null
      readonly dueAt: Date
    })

/** A keyset cursor: opaque, stable, safe in a URL. */
export type Cursor = string & { readonly '~cursor': true }

/** One page of a listing, and where the next one begins; null at the end. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: Cursor | null
}

/**
 * Iterate for everything, or ask for one page. Nothing is read before either.
 *
 * @example
 * for await (const job of mill.jobs.list({ state: 'dead' })) …
 * const { items, next } = await mill.jobs.list({ state: 'dead' }, { limit: 50 }).page()
 */
export interface Listing<T> extends AsyncIterable<T> {
  page(): Promise<Page<T>>
}

/** Which jobs; all members that are given must hold. Bounds of time are exclusive. */
export interface JobFilter<K extends JobKind = JobKind> {
  kind?: K | string | readonly (K | string)[] | undefined
  queue?: string | readonly string[] | undefined
  state?: JobState | readonly JobState[] | undefined
  createdAfter?: Date | undefined
  createdBefore?: Date | undefined
  finishedAfter?: Date | undefined
  finishedBefore?: Date | undefined
  dedupKey?: string | undefined
  schedule?: string | undefined
  /** Part of the payload's text. */
  text?: string | undefined
}

export interface ListOptions {
  /** Default `newest` first. */
  order?: 'newest' | 'oldest' | undefined
  /** Items a page. */
  limit?: number | undefined
  /** Where to go on: the `next` of a page. */
  cursor?: Cursor | string | undefined
  signal?: AbortSignal | undefined
}
