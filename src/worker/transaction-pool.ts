import type { Session, TransactionSession } from '../database/database.ts'
import type { Executor } from '../database/executor.ts'
import { watchTransaction } from './transaction-watch.ts'
import type { TransactionSeat } from './transaction-watch.ts'

/**
 * Connections for `run.transaction`, one for each that is open: as many as runs hold one at the same
 * time, kept for the next and closed with the worker. Statements are not prepared: they are the
 * application's, and may be many.
 */
export interface TransactionPool {
  /**
   * A connection whose transaction was doomed is not used again: the server may be ending it. `work`
   * says in which session of the server it is, so that it is given up where that one is gone.
   */
  transaction<T>(
    bounds: TransactionBounds,
    work: (
      transaction: TransactionSession,
      onSession: (seat: TransactionSeat) => void,
    ) => Promise<T>,
  ): Promise<T>
  /** Whatever is still open was left behind: its connection may be dead, and is not waited for. */
  close(): Promise<void>
}

export interface TransactionBounds {
  readonly leaseMs: number
  /** Aborts when what it is for was decided otherwise. */
  readonly doom: AbortSignal
}

// A statement of the application's may take its time.
const STATEMENT_TIMEOUT = 600_000

export function transactionPool(executor: Executor): TransactionPool {
  const idle: Session[] = []
  const all = new Set<Session>()

  async function acquire(): Promise<Session> {
    for (let session = idle.pop(); session !== undefined; session = idle.pop()) {
      if (!session.isLost) return session
      all.delete(session)
    }
    const session = await executor.engine.connect({
      purpose: 'transaction',
      timeoutMs: STATEMENT_TIMEOUT,
      prepare: false,
      isShared: true,
    })
    all.add(session)
    return session
  }

  function discard(session: Session): void {
    all.delete(session)
    // It may be gone already.
    session.close().catch(() => undefined)
  }

  return {
    async transaction({ doom, leaseMs }, work) {
      const session = await acquire()
      const watch = watchTransaction({ leaseMs, giveUp: () => session.giveUp() }, executor)
      try {
        doom.throwIfAborted()
        return await session.transaction((transaction) => work(transaction, watch.found))
      } finally {
        watch.end()
        if (doom.aborted) discard(session)
        else idle.push(session)
      }
    },
    async close() {
      for (const session of all) if (!idle.includes(session)) session.giveUp()
      await Promise.all(idle.map((session) => session.close()))
      all.clear()
      idle.length = 0
    },
  }
}
