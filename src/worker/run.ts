import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { instant } from '../core/instant.ts'
import { encodeJson } from '../core/json.ts'
import { checkOptions } from '../core/names.ts'
import type { OneOf } from '../core/one-of.ts'
import { storableText } from '../core/text.ts'
import { InvalidOptionError } from '../errors.ts'
import type { JournalEntry } from '../jobs/job.ts'
import type { CarryOf, JobKind, NameOf } from '../jobs/kind.ts'
import type { EnqueueOptions, InputArgs } from '../jobs/options.ts'
import type { Transaction } from './run-transaction.ts'
import type { TransactionOf, TransactionSource } from './transaction-source.ts'

/** For how long, or until when. */
export type PauseUntil = OneOf<{ for: Duration } | { until: Date }>

declare const paused: unique symbol

/** What `run.pause` gives, so that a handler can return it. */
export interface Paused {
  readonly [paused]: true
}

/** One execution of a job, as its handler sees it. */
export interface Run<K extends JobKind = JobKind> {
  /** The job's id. */
  readonly id: string
  readonly kind: NameOf<K>
  readonly queue: string
  /** The fencing number: 1 for the first run, growing, never used again. */
  readonly number: number
  /** Failures before this run. */
  readonly failures: number
  /** Aborts with `LeaseLostError`, `RunTimeoutError`, `CancelledError` or `ShutdownError` as its reason. */
  readonly signal: AbortSignal
  /** When the job's `timeout` ends this run, or null without one. */
  readonly deadline: Date | null
  /**
   * What is kept between the runs of this job: a copy of what the last run left, or of the kind's
   * default. Written with a pause, a failure or a `checkpoint`, if it changed; a return leaves it as
   * it was. What JSON cannot hold fails the run, and what was stored stays.
   */
  carry: CarryOf<K>
  /**
   * What happened to this job before, oldest first: the newest 100 entries, or `limit`, at most
   * 10 000. Read when it is called.
   *
   * @example
   * const refusals = (await run.history()).filter((entry) => entry.note === 'refused')
   */
  history(options?: { limit?: number | undefined }): Promise<readonly JournalEntry[]>
  /** A line for people, kept with the record of this run; the last one counts, at most 8 kB. */
  note(text: string): void
  /** A document kept with the record of this run; the last one counts. Throws where JSON cannot hold it. */
  attach(json: unknown): void
  /**
   * Saves the carry now, if it changed: a crash resumes from it. Throws `LeaseLostError` when the
   * job is not this run's any more, `DatabaseError` when the database stays away for 10 s.
   */
  checkpoint(): Promise<void>
  /** How far it is, for people: `jobs.get` shows it. Written within a second, and once a second at most. */
  progress(done: number, total?: number): void
  /**
   * Ends this run without a failure, to be run again later with the carry it leaves. Calling it
   * decides, returned or not; what is thrown after it still fails the run. Not together with
   * `transaction`.
   *
   * @example
   * return run.pause({ for: '5m' })
   */
  pause(until: PauseUntil): Paused
  /**
   * Enqueues a job in the statement that settles this run: on a return or a pause, and only if it
   * applies. Resolves when the input was checked; the settlement waits for it. A refused input
   * fails the run, awaited or not.
   */
  enqueue<J extends JobKind>(kind: J, ...args: InputArgs<J, EnqueueOptions>): Promise<void>
  /**
   * Effects and settlement in one transaction: `fn` writes, the job is completed with it, and both
   * commit or neither does. Without `db` on a connection of ours; with it in a transaction that your
   * own library opens on the same database. Once a run, at READ COMMITTED. For kinds with a `result`
   * what `fn` gives is stored as it; what the handler does afterwards changes nothing any more.
   *
   * Throws `LeaseLostError`, and everything is rolled back, when the job is not this run's any more;
   * `InvalidOptionError` for a second call, after a pause, and for another database. A transaction
   * of ours that idles longer than the job's `lease` is ended by the server.
   *
   * @example
   * await run.transaction(async (tx) => {
   *   await tx.query('update accounts set balance = balance - $1 where id = $2', [amount, account])
   * })
   */
  transaction<T>(fn: (tx: Transaction) => Promise<T>): Promise<T>
  transaction<Db extends TransactionSource, T>(
    db: Db,
    fn: (tx: TransactionOf<Db>) => Promise<T>,
  ): Promise<T>
}

/** What a run leaves beside its outcome. */
export interface Remarks {
  note?: string
  attachment?: string
}

export const NOTE_BYTES = 8_192

/** Checks a note and cuts it to what is stored. */
export function noteText(text: unknown): string {
  return storableText(String(text), NOTE_BYTES).text
}

/** An attachment as it is stored. Throws `UnencodableError` naming the path. */
export function attachmentText(json: unknown): string {
  return encodeJson(json)
}

/** In how many milliseconds a paused job is due. Throws `InvalidOptionError`. */
export function pauseMs(until: unknown, now: number): number {
  const given = checkOptions('run.pause()', until, ['for', 'until'])
  const { for: duration, until: date } = given
  if ((duration === undefined) === (date === undefined)) {
    throw new InvalidOptionError('pause', until, 'give one of for and until')
  }
  if (duration !== undefined) return milliseconds('for', duration)
  return Math.max(0, instant('until', date) - now)
}

/** The word for handlers to return; the pause itself was noted when it was made. */
export function pausedWord(): Paused {
  return PAUSED
}

// Nothing is in it: what it means is that `run.pause` was called.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a brand is nothing at run time
const PAUSED = Object.freeze({}) as Paused
