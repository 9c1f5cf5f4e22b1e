import { batcher } from '../database/batcher.ts'
import type { Lane } from '../database/executor.ts'
import { releaseRerunsOf } from '../jobs/rerun-statements.ts'
import type { SettledRow } from './settle-statements.ts'

/** Makes asks due that waited for the runs which were just settled (D1, rerun): a statement after the settlement. */
export interface FreedKeys {
  ended(rows: readonly SettledRow[]): void
  /** Resolves when everything ended so far was looked at. */
  idle(): Promise<void>
}

export interface FreedKeysOptions {
  readonly lane: Lane
  /** Whether an ask may wait for a run of this kind. */
  readonly mayWait: (kind: string) => boolean
  readonly hintUntil: () => string
  /** An ask waited, for these keys or for others. */
  readonly onWaiting?: (() => void) | undefined
  readonly onFailure: (error: unknown) => void
}

interface Key {
  readonly kind: string
  readonly dedup_key: string
}

export function freedKeys(options: FreedKeysOptions): FreedKeys {
  const { lane, mayWait, hintUntil, onWaiting, onFailure } = options
  const releases = batcher<Key, null>({ flush: release, bytes: () => 100 })

  async function release(keys: readonly Key[]): Promise<readonly null[]> {
    const params = { keys: JSON.stringify(keys), hint_until: hintUntil() }
    const [row] = await lane.run(releaseRerunsOf, params)
    if (row?.waiting === true) onWaiting?.()
    return keys.map(() => null)
  }

  return {
    ended(rows) {
      for (const { kind, dedup_key } of rows) {
        if (dedup_key === null || !mayWait(kind)) continue
        releases.add({ kind, dedup_key }).catch(onFailure)
      }
    },
    idle: releases.idle,
  }
}
