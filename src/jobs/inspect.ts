import { isId } from '../core/id.ts'
import { checkOptions } from '../core/names.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { jobJournalNewest, jobJournalOldest } from '../journal/statements.ts'
import { entryOf } from './entries.ts'
import { filterParams } from './filter.ts'
import { getJob, listJobsNewest, listJobsOldest } from './inspect-statements.ts'
import type { JobRow, ListRow } from './inspect-statements.ts'
import type { JobFilter, JobRecord, JournalEntry, Listing, ListOptions } from './job.ts'
import type { JobKind } from './kind.ts'
import { definitionOf } from './definition.ts'
import { listing } from './listing.ts'
import type { KeyedPage, PageQuery } from './listing.ts'
import { recordOf } from './records.ts'

/** Reads jobs as they stand and what happened to them; writes nothing. */
export interface Inspector {
  get(id: string, kind?: JobKind): Promise<JobRecord | null>
  list<K extends JobKind>(filter: JobFilter<K>, options: ListOptions): Listing<JobRecord<K>>
  journal(id: string, options: ListOptions): Listing<JournalEntry>
}

// One statement of a filtered listing looks at this many jobs of each place, matching or not.
const LOOK_AT = 2_000
const NO_ID = ''
// After every id: ids begin with a digit below 8.
const BEYOND_IDS = '8'
const FIRST_ENTRY = '-1'

export function inspector(runner: () => Runner): Inspector {
  async function listPage<K extends JobKind>(
    filter: JobFilter<K>,
    options: ListOptions,
    query: PageQuery,
  ): Promise<KeyedPage<JobRecord<K>>> {
    const { params, isFiltered } = filterParams(filter)
    const isOldest = options.order === 'oldest'
    const items: JobRecord<K>[] = []
    let after = query.after
    for (;;) {
      options.signal?.throwIfAborted()
      const left = query.limit - items.length
      const most = left + 1
      const bound = isFiltered ? Math.max(LOOK_AT, most) : most
      const rows = await runner().run(isOldest ? listJobsOldest : listJobsNewest, {
        ...params,
        bound,
        most,
        after: (isOldest ? after : null) ?? NO_ID,
        before: (isOldest ? null : after) ?? BEYOND_IDS,
      })
      const found = rows.filter(isJobRow)
      items.push(...found.slice(0, left).map((row) => recordOf<K>(row)))
      const looked = rows[0]
      if (found.length > left) return { items, last: items.at(-1)?.id ?? null }
      if (looked === undefined || looked.looked_at < bound) return { items, last: null }
      after = looked.looked_until
      if (items.length === query.limit) return { items, last: after }
    }
  }

  async function journalPage(
    id: string,
    options: ListOptions,
    query: PageQuery,
  ): Promise<KeyedPage<JournalEntry>> {
    if (!isId(id)) return { items: [], last: null }
    const isNewest = options.order === 'newest'
    const rows = await runner().run(isNewest ? jobJournalNewest : jobJournalOldest, {
      job_id: id,
      after: (isNewest ? null : query.after) ?? FIRST_ENTRY,
      before: isNewest ? query.after : null,
      most: query.limit + 1,
    })
    const page = rows.slice(0, query.limit)
    const items = page.map(entryOf).filter((entry) => entry !== null)
    return { items, last: rows.length > page.length ? (page.at(-1)?.entry ?? null) : null }
  }

  return {
    async get(id, kind) {
      // What is no id has no record; some of it the database would not even read.
      if (!isId(id)) return null
      const [row] = await runner().run(getJob, { id })
      if (row === undefined) return null
      return kind !== undefined && definitionOf(kind).name !== row.kind ? null : recordOf(row)
    },
    list(filter, options) {
      const checked = checkListOptions(options)
      filterParams(filter)
      return listing({ ...checked, isKey: isId }, (query) => listPage(filter, checked, query))
    },
    journal(id, options) {
      const checked = checkListOptions(options)
      return listing({ ...checked, isKey: isEntry }, (query) => journalPage(id, checked, query))
    },
  }
}

/** The newest entries of a job's journal, oldest first; by default as many as a living job keeps. */
export async function readJournal(
  runner: Runner,
  id: string,
  most: number = KEPT_ENTRIES,
): Promise<readonly JournalEntry[]> {
  const rows = await runner.run(jobJournalNewest, {
    job_id: id,
    after: FIRST_ENTRY,
    before: null,
    most,
  })
  return rows
    .map(entryOf)
    .filter((entry) => entry !== null)
    .toReversed()
}

const KEPT_ENTRIES = 1_000

function checkListOptions(options: ListOptions): ListOptions {
  checkOptions('list options', options, ['order', 'limit', 'cursor', 'signal'])
  const { order } = options
  if (order !== undefined && order !== 'newest' && order !== 'oldest') {
    throw new InvalidOptionError('order', order, "give 'newest' or 'oldest'")
  }
  return options
}

function isJobRow(row: ListRow): row is ListRow & JobRow {
  return row.id !== null
}

function isEntry(key: string): boolean {
  return /^\d{1,19}$/.test(key)
}
