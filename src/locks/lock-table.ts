import { hostname } from 'node:os'
import { instantText } from '../core/instant-text.ts'
import type { Executor, Lane } from '../database/executor.ts'
import type { Doubts } from './doubts.ts'
import type { KeptLock } from './keeper.ts'
import { leaveLock, releaseLocks, takeLock } from './lock-statements.ts'
import type { TakeRow } from './lock-statements.ts'

/**
 * Locks as the database has them: each verb is one statement, and safe to repeat. They go over a
 * connection of their own, so that a lock never waits for a batch of jobs.
 */
export interface LockTable {
  /** One look; `waiting` are the handles of this client that keep their places in the line. */
  take(ask: TakeAsk, waiting: readonly string[]): Promise<TakeRow>
  /** Answers the holders that still had what they give up. */
  release(locks: readonly Pick<KeptLock, 'name' | 'holder'>[]): Promise<ReadonlySet<string>>
  leave(name: string, holders: readonly string[]): Promise<unknown>
}

export interface TakeAsk {
  readonly name: string
  readonly holder: string
  readonly ttlMs: number
}

export interface LockTableOptions {
  readonly executor: Executor
  readonly doubts: Doubts
  readonly errorMs: () => number
  readonly announce: boolean
}

export function lockTable({ executor, doubts, errorMs, announce }: LockTableOptions): LockTable {
  const { clock } = executor
  const lane = (): Lane => executor.lane('lock')
  const owner = `${hostname()}:${process.pid}`
  return {
    async take({ name, holder, ttlMs }, waiting) {
      const connection = lane()
      // The clock first: what it says of a lock's end, and of doubts, is in the parameters.
      await connection.ready()
      const [row] = await connection.run(takeLock, {
        name,
        holder,
        owner,
        ttl_ms: ttlMs,
        lapsed_before: instantText(clock.now() - Math.ceil(errorMs())),
        doubted_at: doubts.last(),
        waiting: arrayOf(waiting),
      })
      return row ?? { token: null, expires_at: null, held_until: null, ahead: 0 }
    },
    async release(locks) {
      const items = locks.map(({ name, holder }) => ({ name, holder, ttl_ms: 0 }))
      const rows = await lane().run(releaseLocks, { locks: JSON.stringify(items), announce })
      return new Set(rows.map(({ holder }) => holder))
    },
    leave: (name, holders) => lane().run(leaveLock, { name, holders: arrayOf(holders) }),
  }
}

// Ids hold letters and digits only.
function arrayOf(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}
