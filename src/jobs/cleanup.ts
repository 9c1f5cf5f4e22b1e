import { arrayText } from '../core/array-text.ts'
import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { instantText } from '../core/instant-text.ts'
import { instant } from '../core/instant.ts'
import { checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { BULK_OPTIONS } from './bulk.ts'
import type { Bulk, BulkContext, Changed } from './bulk.ts'
import { cleanUpFinished, countFinished } from './cleanup-statements.ts'
import type { CleanupParams, CleanupRow } from './cleanup-statements.ts'
import type { JobKind } from './kind.ts'

/** Which records of ended jobs go. */
export interface CleanupFilter {
  /** Those that ended before this instant, or longer ago than this; exclusive. */
  finishedBefore: Date | Duration
  kind?: JobKind | string | undefined
  /** Default: all three. */
  state?: EndState | undefined
}

type EndState = 'completed' | 'dead' | 'cancelled'

const ENDS: readonly EndState[] = ['completed', 'dead', 'cancelled']
const BATCH = 1_000

/**
 * H4 by hand: records of ended jobs, whatever their `keep` says, with journal, carry and body. In the
 * order in which the jobs were made, 1 000 a statement; living jobs are never touched.
 */
export async function cleanUp(
  filter: CleanupFilter,
  options: Bulk,
  context: BulkContext,
): Promise<Changed> {
  checkOptions('cleanup()', options, BULK_OPTIONS)
  const params = cleanupParams(filter, context.clock.now())
  const { dryRun = false, onProgress, signal } = options
  const statement = dryRun ? countFinished : cleanUpFinished
  let matched = 0
  for (let after: string | null = ''; after !== null;) {
    signal?.throwIfAborted()
    const found = await step({ ...params, after, bound: BATCH })
    matched += found.matched
    onProgress?.(matched)
    after = found.next
  }
  return { matched, applied: dryRun ? 0 : matched }

  async function step(at: CleanupParams): Promise<CleanupStep> {
    const [row] = await context.runner().run(statement, at)
    return { matched: row?.matched ?? 0, next: row === undefined ? null : nextAfter(row) }
  }
}

interface CleanupStep {
  readonly matched: number
  /** Behind which id the next statement looks; null: there is nothing behind. */
  readonly next: string | null
}

function nextAfter({ looked_at, looked_until }: CleanupRow): string | null {
  return looked_at < BATCH ? null : looked_until
}

function cleanupParams(
  filter: CleanupFilter,
  now: number,
): Pick<CleanupParams, 'states' | 'before' | 'kind'> {
  checkOptions('cleanup()', filter, ['finishedBefore', 'kind', 'state'])
  const { finishedBefore, kind, state } = filter
  if (state !== undefined && !ENDS.includes(state)) {
    throw new InvalidOptionError('state', state, `give one of ${ENDS.join(', ')}, or none for all`)
  }
  const before =
    finishedBefore instanceof Date
      ? instant('finishedBefore', finishedBefore)
      : now - milliseconds('finishedBefore', finishedBefore, { zero: true })
  return {
    states: arrayText(state === undefined ? ENDS : [state]),
    before: instantText(before),
    kind: kind === undefined ? null : typeof kind === 'string' ? kind : kind.name,
  }
}
