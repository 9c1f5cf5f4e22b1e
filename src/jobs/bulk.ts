import type { Clock } from '../core/clock.ts'
import type { JobEvents } from '../core/job-events.ts'
import { wait } from '../core/wait.ts'
import type { Runner } from '../database/executor.ts'
import { DatabaseError } from '../errors.ts'
import { idChunks, idsText, matchingChunks } from './bulk-chunks.ts'
import type { Chunk } from './bulk-chunks.ts'
import { placesOfJobs } from './bulk-statements.ts'
import type { JobFilter, JobState } from './job.ts'

/** One id, or several. */
export type Ids = string | readonly string[]

/** What a change of several jobs did. */
export interface Changed {
  /** Jobs that the call meant and that have a record. */
  readonly matched: number
  /** Jobs that were changed: the others were not in a state for it. 0 for a dry run. */
  readonly applied: number
}

/** How a change of several jobs is made: in chunks of 500, each a commit of its own. */
export interface Bulk {
  /** Counts what would be meant, and changes nothing. Default false. */
  dryRun?: boolean | undefined
  /** Told after each chunk how many jobs were looked at so far. */
  onProgress?: ((done: number) => void) | undefined
  /** Ends the call between two chunks, with its reason; what was changed stays. */
  signal?: AbortSignal | undefined
}

export const BULK_OPTIONS: readonly string[] = ['dryRun', 'onProgress', 'signal']

export interface BulkContext {
  readonly runner: () => Runner
  readonly clock: Clock
  readonly events?: JobEvents | undefined
  /** Until which instant a job is announced; `-infinity` where nothing is. */
  readonly hintUntil: () => string
}

/** One kind of change, of whatever jobs. */
export interface Change {
  /** States in which a job can be changed so. */
  readonly states: readonly JobState[]
  /** One statement over these ids in these states (both array literals); gives those it applied to. */
  readonly apply: (ids: string, states: string) => Promise<readonly string[]>
}

/**
 * Changes jobs by their ids or by a filter. A statement that applied to nothing while the job stands
 * where it could met a move, or a row that somebody holds (M3): it is sent again, ten times in about
 * five seconds. Nothing here waits for a lock, so that a change of many holds up nobody.
 */
export async function changeJobs(
  which: Ids | JobFilter,
  change: Change,
  { bulk, context }: { readonly bulk: Bulk; readonly context: BulkContext },
): Promise<Changed> {
  const { dryRun = false, onProgress, signal } = bulk
  const { states } = change
  const chunks = isIds(which) ? idChunks(which, states) : matchingChunks(which, states, context)
  let matched = 0
  let applied = 0
  signal?.throwIfAborted()
  for await (const chunk of chunks) {
    const done = await (dryRun
      ? counted(chunk, context)
      : changed(chunk, change, { bulk, context }))
    matched += done.matched
    applied += done.applied
    onProgress?.(matched)
    signal?.throwIfAborted()
  }
  return { matched, applied }
}

function isIds(which: Ids | JobFilter): which is Ids {
  return typeof which === 'string' || Array.isArray(which)
}

async function counted({ ids, areFound }: Chunk, { runner }: BulkContext): Promise<Changed> {
  if (areFound) return { matched: ids.length, applied: 0 }
  const places = await runner().run(placesOfJobs, { ids: idsText(ids) })
  return { matched: places.length, applied: 0 }
}

// Together a little over five seconds.
const REPEATS = 10
const FIRST_PAUSE = 5

async function changed(
  { ids, states }: Chunk,
  change: Change,
  { bulk, context }: { readonly bulk: Bulk; readonly context: BulkContext },
): Promise<Changed> {
  const left = new Set(ids)
  const unfit = new Set<string>()
  let applied = 0
  for (let repeats = 0; ; repeats += 1) {
    for (const id of await change.apply(idsText(left), idsText(states))) {
      left.delete(id)
      applied += 1
    }
    if (left.size === 0) break
    const places = await context.runner().run(placesOfJobs, { ids: idsText(left) })
    left.clear()
    for (const { id, state } of places) (states.includes(state) ? left : unfit).add(id)
    if (left.size === 0) break
    if (repeats === REPEATS) throw heldError(left)
    await wait(context.clock, FIRST_PAUSE * 2 ** repeats, bulk.signal)
    bulk.signal?.throwIfAborted()
  }
  return { matched: applied + unfit.size, applied }
}

function heldError(ids: ReadonlySet<string>): DatabaseError {
  const [first = ''] = ids
  return new DatabaseError(
    `${ids.size === 1 ? `job ${first} is` : `${ids.size} jobs, ${first} the first, are`} held by an open transaction. Commit or end it, and call again: what was changed already stays changed.`,
    { sqlstate: '55P03', statement: placesOfJobs.name, retryable: true, outcomeUnknown: false },
  )
}
