/**
 * One thing that happened, told by whoever knows it first hand: a process of what it did itself, the
 * harness of what it did to the processes, the tables of what was left in the end. The checker
 * believes each and holds them against each other.
 */
export type Fact = { readonly at: number; readonly process: string } & About

/** What was told. `at` is the machine's wall time in milliseconds, and the same clock for all processes. */
export type About = OfJobs | OfRuns | OfSchedules | OfStreams | OfLocks | Struck

export type OfJobs = Enqueued | RolledBack | Unanswered | Placed | EndedWaiting | Recorded

/** The ask was answered: its job must be there. */
export interface Enqueued {
  readonly what: 'enqueued'
  readonly job: string
  /** What the application calls what it asked for. */
  readonly ask: number
  /** Never before; and not at all after `expiresAt`, null for ever. */
  readonly dueAt: number
  readonly expiresAt: number | null
}

/** The transaction of the ask was rolled back: there must be no job of it. */
export interface RolledBack {
  readonly what: 'rolled-back'
  readonly ask: number
}

/** The ask failed: its job may be there or not; with `beside`, if what was written beside it is. */
export interface Unanswered {
  readonly what: 'unanswered'
  readonly ask: number
  readonly beside: boolean
}

/** In the end the job was found in these tables. */
export interface Placed {
  readonly what: 'placed'
  readonly job: string
  /** What it was asked for as; null where the job does not say. */
  readonly ask: number | null
  readonly places: readonly string[]
}

/** The job ended while it waited, cancelled or expired: no run of it is its end. */
export interface EndedWaiting {
  readonly what: 'ended-waiting'
  readonly job: string
}

/** What was recorded of one run, in the journal or as the job's end. */
export interface Recorded {
  readonly what: 'recorded'
  readonly job: string
  readonly run: number
  readonly outcome: string
  readonly worker: string
  readonly startedAt: number
  readonly recordedAt: number
  /** When the next run may begin; null at the end. */
  readonly dueAt: number | null
}

export type OfRuns = Joined | Began | Told | Returned | Settled | Effect

/** A worker with its caps, begun. */
export interface Joined {
  readonly what: 'joined'
  readonly worker: string
  readonly concurrency: number
  readonly queues: Readonly<Record<string, number>>
  readonly kinds: Readonly<Record<string, number>>
}

/** The handler was called. */
export interface Began {
  readonly what: 'began'
  readonly job: string
  readonly run: number
  readonly worker: string
  readonly kind: string
  readonly queue: string
  /** It writes its effect in `run.transaction`. */
  readonly isTransactional: boolean
}

/** Its signal aborted. */
export interface Told {
  readonly what: 'told'
  readonly job: string
  readonly run: number
}

/** The handler came to its end, whichever. */
export interface Returned {
  readonly what: 'returned'
  readonly job: string
  readonly run: number
}

/** The worker was answered that its settlement applied, or that it missed. */
export interface Settled {
  readonly what: 'settled'
  readonly job: string
  readonly run: number
  readonly worker: string
  readonly outcome: string
  readonly applied: boolean
}

/** A row that the run wrote in `run.transaction` was found. */
export interface Effect {
  readonly what: 'effect'
  readonly job: string
  readonly run: number
  readonly worker: string
}

export type OfSchedules = Due | Fired

/** The schedule has a boundary then. */
export interface Due {
  readonly what: 'due'
  readonly schedule: string
  readonly boundary: number
}

/** A job, or a merged ask, of that boundary was found. */
export interface Fired {
  readonly what: 'fired'
  readonly schedule: string
  readonly boundary: number
}

export type OfStreams = Published | Sequenced | Follows | Saw

/** The publisher's transaction was committed. */
export interface Published {
  readonly what: 'published'
  readonly stream: string
  readonly event: string
}

/** The event was found at its offset. */
export interface Sequenced {
  readonly what: 'sequenced'
  readonly stream: string
  readonly event: string
  readonly offset: number
}

/** A consumer that must have seen all of the stream in the end; with `isOnce` nothing twice. */
export interface Follows {
  readonly what: 'follows'
  readonly consumer: string
  readonly stream: string
  readonly isOnce: boolean
}

export interface Saw {
  readonly what: 'saw'
  readonly consumer: string
  readonly stream: string
  readonly event: string
  readonly offset: number
}

export type OfLocks = Took | Extended | LetGo | Lost

/** The lock was given, by the database's clock `from` – `until`. */
export interface Took {
  readonly what: 'took'
  readonly lock: string
  readonly token: number
  readonly from: number
  readonly until: number
}

/** A renewal was answered. */
export interface Extended {
  readonly what: 'extended'
  readonly lock: string
  readonly token: number
  readonly until: number
}

/** The holder claims it no longer; told before it asks for the release. */
export interface LetGo {
  readonly what: 'let-go'
  readonly lock: string
  readonly token: number
}

/** The holder was told that it has lost it. */
export interface Lost {
  readonly what: 'lost'
  readonly lock: string
  readonly token: number
}

/** Something that was done to a process, or with `to: null` for ever; to all of them where `target` is null. */
export interface Struck {
  readonly what: 'struck'
  readonly how: string
  readonly target: string | null
  readonly from: number
  readonly to: number | null
}
