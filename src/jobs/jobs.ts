import type { Runner } from '../database/executor.ts'
import { redrive } from './admin.ts'
import type { Changed, RetryOptions } from './admin.ts'
import { inspector } from './inspect.ts'
import type { JobFilter, JobRecord, JournalEntry, Listing, ListOptions } from './job.ts'
import type { JobKind } from './kind.ts'

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
  /** Dead or cancelled jobs back into line: due now, no failures, the old ending kept in the journal. */
  retry(which: string | readonly string[], options?: RetryOptions): Promise<Changed>
}

export interface JobsOptions {
  readonly runner: () => Runner
  readonly hintUntil: () => string
}

export function jobsOf(options: JobsOptions): Jobs {
  const looks = inspector(options.runner)

  function get(id: string): Promise<JobRecord | null>
  function get<K extends JobKind>(kind: K, id: string): Promise<JobRecord<K> | null>
  function get(kindOrId: JobKind | string, id = ''): Promise<JobRecord | null> {
    return typeof kindOrId === 'string' ? looks.get(kindOrId) : looks.get(id, kindOrId)
  }

  return {
    get,
    list: (filter = {}, settings = {}) => looks.list(filter, settings),
    journal: (id, settings = {}) => looks.journal(id, settings),
    retry: (which, settings = {}) => redrive(which, settings, options),
  }
}
