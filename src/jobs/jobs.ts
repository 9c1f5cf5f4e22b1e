import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import type { Runner } from '../database/executor.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { InvalidOptionError } from '../errors.ts'
import type { Bulk, Changed, Ids } from './bulk.ts'
import { cancel } from './cancel.ts'
import type { CancelOptions } from './cancel.ts'
import { cleanUp } from './cleanup.ts'
import type { CleanupFilter } from './cleanup.ts'
import { endWatch } from './end-watch.ts'
import { eventNews } from './event-news.ts'
import type { EventsOptions, JobNews } from './event-news.ts'
import { explain } from './explain.ts'
import type { ExplainReport } from './explain.ts'
import { inspector } from './inspect.ts'
import type {
  FinishedJob,
  JobFilter,
  JobRecord,
  JournalEntry,
  Listing,
  ListOptions,
} from './job.ts'
import type { JobKind } from './kind.ts'
import { redrive } from './redrive.ts'
import type { RetryOptions } from './redrive.ts'
import { reschedule } from './reschedule.ts'
import type { Reschedule, RescheduleOptions } from './reschedule.ts'
import { readStats } from './stats.ts'
import type { Stats } from './stats.ts'
import { waitForEnd } from './wait.ts'
import type { WaitOptions } from './wait.ts'

/** Jobs as they stand, what happened to them, and what people may decide about them. */
export interface Jobs {
  /** One job, or null when there is no record of it (of that kind). */
  get(id: string): Promise<JobRecord | null>
  get<K extends JobKind>(kind: K, id: string): Promise<JobRecord<K> | null>
  /** Newest first, or `order: 'oldest'`; 100 a page. */
  list<K extends JobKind = JobKind>(
    filter?: JobFilter<K>,
    options?: ListOptions,
  ): Listing<JobRecord<K>>
  /** Every run and every decision, oldest first, the end of the job last. */
  journal(id: string, options?: ListOptions): Listing<JournalEntry>
  /**
   * Resolves when the job has ended, with its record; at once if it has. A wake-up tells, within a
   * second at most looking does. Throws `UnknownJobError` (no record, or of another kind),
   * `WaitTimeoutError` after `timeout` (default: none), or the reason of `signal`.
   *
   * @example
   * const job = await mill.jobs.wait(charge, id, { timeout: '30s' })
   * if (job.state === 'completed') return job.result
   */
  wait(id: string, options?: WaitOptions): Promise<FinishedJob>
  wait<K extends JobKind>(kind: K, id: string, options?: WaitOptions): Promise<FinishedJob<K>>
  /**
   * Ends pending jobs at once, and asks the runs of running ones to end: their `run.signal` aborts
   * with `CancelledError` within a second, wherever they run. A run that returns all the same is
   * completed; any other ending is `cancelled`. With `force` running jobs end now and their runs are
   * void. Applied are those that ended or were asked to.
   *
   * A filter must restrict something, and is walked in chunks of 500. Throws `DatabaseError` when an
   * open transaction holds a job for five seconds.
   *
   * @example
   * await mill.jobs.cancel(id, { by: 'ada', why: 'the order was withdrawn' })
   * await mill.jobs.cancel({ kind: 'report', state: 'pending' }, { dryRun: true })
   */
  cancel(which: Ids | JobFilter, options?: CancelOptions): Promise<Changed>
  /**
   * Dead or cancelled jobs back into line: due now, failures 0, without expiry; same id, the old
   * ending kept in the journal. Others are left as they are.
   *
   * @example
   * await mill.jobs.retry({ kind: 'charge', state: 'dead', finishedAfter: outageBegan })
   */
  retry(which: Ids | JobFilter, options?: RetryOptions): Promise<Changed>
  /**
   * Changes when pending jobs are due, or their priority. Others are left as they are.
   *
   * @example
   * await mill.jobs.reschedule(id, { delay: 0 })   // now
   * await mill.jobs.reschedule({ queue: 'mail', state: 'pending' }, { priority: 'low' })
   */
  reschedule(which: Ids | JobFilter, to: Reschedule, options?: RescheduleOptions): Promise<Changed>
  /**
   * Removes records of jobs that ended before an instant, or longer ago than a duration, whatever
   * their `keep` says; with their journal. Never living jobs.
   *
   * @example
   * await mill.jobs.cleanup({ finishedBefore: '30d', state: 'completed' })
   */
  cleanup(filter: CleanupFilter, options?: Bulk): Promise<Changed>
  /**
   * Why a pending job is not running: not due, its queue paused, no worker, a cap, jobs before it.
   * Throws `UnknownJobError`.
   *
   * @example
   * const { summary, reasons } = await mill.jobs.explain(id)
   */
  explain(id: string): Promise<ExplainReport>
  /**
   * What becomes of jobs, as it happens, told by processes that opened with `events: true`, this one
   * included; else nothing comes. Begins with `{ event: 'resync' }` once it listens. For people who
   * look on: what must not be missed is in the tables. Ends with `signal`, or with the client.
   * Throws `InvalidOptionError` where the client was opened with `wake: 'poll'`.
   *
   * @example
   * for await (const each of mill.jobs.events({ signal })) {
   *   if (each.event === 'dead') page(each.kind, each.id)
   * }
   */
  events(options?: EventsOptions): AsyncIterable<JobNews>
  /**
   * Everything at one instant, by queue and kind: what waits and why, what runs, what is dead, what
   * was done in the last minute. Counts are exact up to 100 000 a queue. Takes a few milliseconds,
   * and some 300 ms for each queue in which 100 000 wait: for people who look, not for each request.
   *
   * @example
   * const { total, workers } = await mill.jobs.stats()
   * if (total.due.value > 0 && workers.alive === 0) alert('nobody works')
   */
  stats(): Promise<Stats>
}

export interface JobsOptions {
  readonly runner: () => Runner
  readonly clock: Clock
  readonly events: JobEvents
  readonly wakeups: () => Wakeups
  readonly hintUntil: () => string
}

/** The face, and what ends with the client: its waits reject with `ClosedError`. */
export interface JobsParts {
  readonly jobs: Jobs
  close(): void
}

export function jobsOf(options: JobsOptions): JobsParts {
  const { clock } = options
  const looks = inspector(options.runner)
  const watch = endWatch(options)
  const closing = new AbortController()

  function get(id: string): Promise<JobRecord | null>
  function get<K extends JobKind>(kind: K, id: string): Promise<JobRecord<K> | null>
  function get(kindOrId: JobKind | string, id = ''): Promise<JobRecord | null> {
    return typeof kindOrId === 'string' ? looks.get(kindOrId) : looks.get(id, kindOrId)
  }

  function wait(id: string, settings?: WaitOptions): Promise<FinishedJob>
  function wait<K extends JobKind>(
    kind: K,
    id: string,
    settings?: WaitOptions,
  ): Promise<FinishedJob<K>>
  function wait(
    kindOrId: JobKind | string,
    idOrSettings: string | WaitOptions = {},
    settings: WaitOptions = {},
  ): Promise<FinishedJob> {
    const context = { clock, watch, get: looks.get }
    if (typeof idOrSettings !== 'string') return waitForEnd(kindOrId, idOrSettings, context)
    if (typeof kindOrId === 'string') throw new InvalidOptionError('kind', kindOrId, NO_KIND)
    const ofKind = (id: string): Promise<JobRecord | null> => looks.get(id, kindOrId)
    return waitForEnd(idOrSettings, settings, { ...context, get: ofKind })
  }

  const jobs: Jobs = {
    get,
    wait,
    list: (filter = {}, settings = {}) => looks.list(filter, settings),
    journal: (id, settings = {}) => looks.journal(id, settings),
    cancel: async (which, settings = {}) => cancel(which, settings, options),
    retry: async (which, settings = {}) => redrive(which, settings, options),
    reschedule: async (which, to, settings = {}) =>
      reschedule(which, to, { options: settings, context: options }),
    cleanup: async (filter, settings = {}) => cleanUp(filter, settings, options),
    explain: async (id) => explain(id, options.runner(), clock),
    events(settings = {}) {
      // Where no hints are sent, none are heard.
      if (options.hintUntil() === '-infinity')
        throw new InvalidOptionError('wake', 'poll', NO_EVENTS)
      return eventNews(settings, { ...options, closing: closing.signal })
    },
    stats: async () => readStats(options.runner(), clock),
  }
  return {
    jobs,
    close() {
      closing.abort()
      watch.close()
    },
  }
}

const NO_EVENTS = "events are notifications: open the client with wake: 'listen' to hear them"
const NO_KIND = 'pass the kind that defineJob() answered, or the id alone'
