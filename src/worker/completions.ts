import type { CompleteAlikeParams } from './complete-statements.ts'
import type { Settlement } from './settle.ts'

/** The run completed, and nothing follows it. */
export function isPlain({ fate, followUps }: Settlement): boolean {
  return fate.outcome === 'completed' && (followUps === undefined || followUps.length === 0)
}

/** Plain completions of which nothing differs but the job; null: something does, or is to be kept. */
export function completionsAlike(
  settlements: readonly Settlement[],
): Omit<CompleteAlikeParams, 'worker'> | null {
  const [first] = settlements
  if (first === undefined) return null
  const { run, keep_ms: keepMs } = first.fate
  for (const { fate } of settlements) {
    if (fate.run !== run || fate.keep_ms !== keepMs) return null
    if ((fate.note ?? fate.attachment ?? fate.result) !== undefined) return null
  }
  const ids = `{${settlements.map(({ fate }) => fate.id).join(',')}}`
  return { ids, run, keep_ms: keepMs ?? null }
}
