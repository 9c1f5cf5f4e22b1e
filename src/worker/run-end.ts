import type { Ask } from '../jobs/ask.ts'
import type { FateRow } from './settle-statements.ts'

/** How a run ended: with a fate to write, settled by itself in a transaction, or without its lease. */
export type RunEnd =
  | {
      readonly type: 'fate'
      readonly fate: FateRow
      readonly followUps: readonly Ask[]
    }
  | { readonly type: 'settled' }
  | { readonly type: 'lost' }

export const NO_ASKS: readonly Ask[] = []
export const SETTLED: RunEnd = { type: 'settled' }
export const LOST: RunEnd = { type: 'lost' }

/** An end without jobs to follow. */
export function fate(row: FateRow): RunEnd {
  return { type: 'fate', fate: row, followUps: NO_ASKS }
}
