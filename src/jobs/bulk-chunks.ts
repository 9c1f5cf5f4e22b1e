import type { Clock } from '../core/clock.ts'
import { isId } from '../core/id.ts'
import { checkOptions } from '../core/names.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { matchingJobs } from './bulk-statements.ts'
import type { MatchRow } from './bulk-statements.ts'
import { filterParams, FILTER_OPTIONS, statesOf } from './filter.ts'
import type { JobFilter, JobState } from './job.ts'

/** A part of what a change means: as many jobs as one statement takes. */
export interface Chunk {
  readonly ids: readonly string[]
  /** Where a job of this chunk may stand to be changed. */
  readonly states: readonly JobState[]
  /** They came from a filter, so that each was seen with a record. */
  readonly areFound: boolean
}

const CHUNK = 500
// One statement looks at this many jobs of each place, matching or not.
const LOOK_AT = 2_000
// After every id: ids begin with a digit below 8.
const BEYOND_IDS = '8'

/** The given ids, each once and in order (M6). Throws `InvalidOptionError` for what is none. */
export function* idChunks(
  which: string | readonly string[],
  states: readonly JobState[],
): Generator<Chunk, void> {
  const ids = [...new Set(typeof which === 'string' ? [which] : which)].toSorted()
  for (const id of ids) {
    if (!isId(id)) throw new InvalidOptionError('id', id, 'pass the id that enqueue() answered')
  }
  for (let start = 0; start < ids.length; start += CHUNK) {
    yield { ids: ids.slice(start, start + CHUNK), states, areFound: false }
  }
}

/** What a filter matches, walked by id: a job that moves meanwhile is met at most once. */
export async function* matchingChunks(
  filter: JobFilter,
  changeable: readonly JobState[],
  { runner, clock }: { readonly runner: () => Runner; readonly clock: Clock },
): AsyncGenerator<Chunk, void> {
  const asked = statesOf(restricted(filter))
  const states = changeable.filter((state) => asked.includes(state))
  // What is asked for after the call began is not meant: else the walk might never end.
  const createdBefore = filter.createdBefore ?? new Date(clock.now() + 1)
  const { params } = filterParams({ ...filter, state: states, createdBefore })
  if (states.length === 0) return
  let after = ''
  for (;;) {
    const keys = { after, before: BEYOND_IDS, bound: LOOK_AT, most: CHUNK }
    const rows = await runner().run(matchingJobs, { ...params, ...keys })
    const ids = rows.flatMap(({ id }) => id ?? [])
    if (ids.length > 0) yield { ids, states, areFound: true }
    const next = nextAfter(ids, rows[0])
    if (next === null) return
    after = next
  }
}

/** Where the walk goes on: after what it gave, or after what it looked at; null at the end. */
function nextAfter(ids: readonly string[], looked: MatchRow | undefined): string | null {
  if (ids.length === CHUNK) return ids.at(-1) ?? null
  return looked === undefined || looked.looked_at < LOOK_AT ? null : looked.looked_until
}

/** Ids as an array literal: they need no quotes, nor do states. */
export function idsText(ids: Iterable<string>): string {
  return `{${[...ids].join(',')}}`
}

/** A filter whose members all turned out undefined would mean every job there is. */
function restricted(filter: JobFilter): JobFilter {
  checkOptions('filter', filter, FILTER_OPTIONS)
  if (Object.values(filter).some((value) => value !== undefined)) return filter
  throw new InvalidOptionError(
    'filter',
    filter,
    "it would mean every job. Name a restriction, or the states: { state: ['pending', 'running'] }",
  )
}
