import { dateFrom } from '../core/instant-text.ts'
import { checkName, checkOptions } from '../core/names.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { breakLock, listLocks } from './lock-admin-statements.ts'

/** A lock that is held. */
export interface LockRecord {
  readonly name: string
  /** The process that has it: host:pid. */
  readonly owner: string
  readonly token: number
  readonly acquiredAt: Date
  readonly expiresAt: Date
  /** How many were in line for it within the last five seconds. */
  readonly waiting: number
}

export interface LockListOptions {
  /** Names greater than this one, in the order of their bytes. Default from the first. */
  after?: string | undefined
  /** At most so many. Default 1 000. */
  limit?: number | undefined
}

/** Locks as they stand. */
export interface Locks {
  /** Those that are held, by name. Throws `InvalidOptionError`. */
  list(options?: LockListOptions): Promise<readonly LockRecord[]>
  /**
   * Takes a lock from whoever holds it, by hand: a holder that hangs. Answers whether anybody did. The
   * holder hears of it at once if its client listens, else with its next renewal, or at its end; until
   * then two may be at work, so what they write must look at tokens.
   *
   * @example
   * await mill.locks.release('nightly report')
   */
  release(name: string): Promise<boolean>
}

const MOST_LISTED = 1_000

export function lockRecords(context: {
  readonly runner: () => Runner
  readonly announce: boolean
}): Locks {
  return {
    async list(options = {}) {
      checkOptions('locks.list()', options, ['after', 'limit'])
      const { after = '', limit = MOST_LISTED } = options
      const most = countOf(limit)
      if (most === 0) return []
      const rows = await context.runner().run(listLocks, { after: textOf(after), most })
      return rows.map((row) => ({
        name: row.name,
        owner: row.owner,
        token: row.token,
        acquiredAt: dateFrom(row.acquired_at),
        expiresAt: dateFrom(row.expires_at),
        waiting: row.waiting,
      }))
    },
    async release(name) {
      const { announce } = context
      const rows = await context
        .runner()
        .run(breakLock, { name: checkName('lock', name), announce })
      return rows.length > 0
    },
  }
}

function textOf(after: unknown): string {
  return after === '' ? '' : checkName('lock', after)
}

function countOf(limit: unknown): number {
  if (typeof limit === 'number' && Number.isInteger(limit) && limit <= MOST_LISTED) {
    return Math.max(0, limit)
  }
  throw new InvalidOptionError('limit', limit, `give a whole number up to ${MOST_LISTED}`)
}
