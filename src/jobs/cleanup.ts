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
 * H4 by hand: records of ended jobs, whatever their `keep` says, with journal, carry and body. The
 * oldest first, 1 000 a statement; living jobs are never touched.
 */
export async function cleanUp(
  filter: CleanupFilter,
  options: Bulk,
  context: BulkContext,
): Promise<Changed> {
  checkOptions('cleanup()', options, BULK_OPTIONS)
  const { states, ...params } = cleanupParams(filter, context.clock.now())
  const { dryRun = false, onProgress, signal } = options
  const statement = dryRun ? countFinished : cleanUpFinished
  let matched = 0
  for (const state of states) {
    for (let from: WalkFrom | null = START; from !== null;) {
      signal?.throwIfAborted()
      const found = await step({ ...params, ...from, state, bound: BATCH })
      matched += found.matched
      onProgress?.(matched)
      from = found.next
    }
  }
  return { matched, applied: dryRun ? 0 : matched }

  async function step(at: CleanupParams): Promise<CleanupStep> {
    const [row] = await context.runner().run(statement, at)
    return { matched: row?.matched ?? 0, next: row === undefined ? null : after(row) }
  }
}

interface CleanupStep {
  readonly matched: number
  readonly next: WalkFrom | null
}

interface WalkFrom {
  readonly after_us: string
  readonly after_id: string
}

// Before every ending: no clock of ours was ever set before 1900.
const START: WalkFrom = { after_us: '-2208988800000000', after_id: '' }

function after({ looked_at, last_us, last_id }: CleanupRow): WalkFrom | null {
  if (looked_at < BATCH || last_us === null || last_id === null) return null
  return { after_us: last_us, after_id: last_id }
}

function cleanupParams(
  filter: CleanupFilter,
  now: number,
): { readonly states: readonly EndState[]; readonly before: string; readonly kind: string | null } {
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
    states: state === undefined ? ENDS : [state],
    before: instantText(before),
    kind: kind === undefined ? null : typeof kind === 'string' ? kind : kind.name,
  }
}
