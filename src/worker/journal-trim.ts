import type { Lane } from '../database/executor.ts'
import { trimJournal } from '../jobs/retention-statements.ts'

/**
 * A living job keeps its newest 1 000 journal entries (H4): one that pauses every second would else
 * grow without end. Looked for beside the hot path, in what was written since the last pass.
 */
export interface JournalTrim {
  /** One batch; gives how many entries went. */
  batch(most: number): Promise<number>
}

const KEPT_ENTRIES = 1_000
// Entries before the first pass are looked at as far back as one pass looks.
const BEGINNING = '0'

export function journalTrim(lane: Lane): JournalTrim {
  let after = BEGINNING
  return {
    async batch(most) {
      const [row] = await lane.run(trimJournal, { after, keep: KEPT_ENTRIES, most })
      // A full batch may have left some: the same span again.
      if (row !== undefined && row.trimmed < most) after = row.top
      return row?.trimmed ?? 0
    },
  }
}
