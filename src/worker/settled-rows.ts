import { decodeJson } from '../core/json.ts'
import type { SettledAnswer, SettledRow } from './settle-statements.ts'
import type { Settlement } from './settle.ts'

/**
 * What became of a batch of runs, row by row, from the short answer of its statement. It names only
 * what is not as it was asked: nearly always every fate applied, and neither a cancel nor a key
 * concerns it. A row of seven columns for each run cost as much to send and to read as the claim.
 */
export function settledRows(
  answer: SettledAnswer | undefined,
  settlements: readonly Settlement[],
  worker: string,
): readonly SettledRow[] {
  if (answer === undefined || answer.applied === 0) return []
  const told = new Map(listOf(answer.told).map((each) => [each.id, each]))
  return appliedOf(answer, settlements).map(({ fate, of }) => {
    const special = told.get(fate.id)
    return {
      job_id: fate.id,
      run: fate.run,
      outcome: special?.isCancelled === true ? 'cancelled' : fate.outcome,
      kind: of.kind,
      queue: of.queue,
      worker: fate.worker ?? worker,
      dedup_key: special?.dedupKey ?? null,
    }
  })
}

/** Those that the answer names: all of them, which their number says, or those it lists. */
function appliedOf(
  { applied, named }: SettledAnswer,
  settlements: readonly Settlement[],
): readonly Settlement[] {
  if (applied === settlements.length) return settlements
  const runs = new Set(listOf(named).map(({ id, run }) => keyOf(id, run)))
  return settlements.filter(({ fate }) => runs.has(keyOf(fate.id, fate.run)))
}

function keyOf(id: string, run: number): string {
  return `${run} ${id}`
}

interface Named {
  readonly id: string
  readonly run: number
  readonly isCancelled: boolean
  readonly dedupKey: string | null
}

/** The door where the statement's own JSON comes in: [id, run, cancelled, key] each. */
function listOf(text: string | null): readonly Named[] {
  if (text === null) return []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door itself
  const rows = decodeJson(text) as readonly (readonly [string, number, boolean, string | null])[]
  return rows.map(([id, run, isCancelled, dedupKey]) => ({ id, run, isCancelled, dedupKey }))
}
