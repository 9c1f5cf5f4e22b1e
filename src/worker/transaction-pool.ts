import type { Engine, Session, TransactionSession } from '../database/database.ts'

/**
 * Connections for `run.transaction`, one for each that is open: as many as runs hold one at the same
 * time, kept for the next and closed with the worker. Statements are not prepared: they are the
 * application's, and may be many.
 */
export interface TransactionPool {
  /** A connection whose transaction was doomed is not used again: the server may be ending it. */
  transaction<T>(
    doom: AbortSignal,
    work: (transaction: TransactionSession) => Promise<T>,
  ): Promise<T>
  close(): Promise<void>
}

// A statement of the application's may take its time.
const STATEMENT_TIMEOUT = 600_000

export function transactionPool(engine: Engine): TransactionPool {
  const idle: Session[] = []
  const all = new Set<Session>()

  async function acquire(): Promise<Session> {
    for (let session = idle.pop(); session !== undefined; session = idle.pop()) {
      if (!session.isLost) return session
      all.delete(session)
    }
    const session = await engine.connect({
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
    async transaction(doom, work) {
      const session = await acquire()
      try {
        doom.throwIfAborted()
        return await session.transaction(work)
      } finally {
        if (doom.aborted) discard(session)
        else idle.push(session)
      }
    },
    async close() {
      await Promise.all([...all].map((session) => session.close()))
      all.clear()
      idle.length = 0
    },
  }
}
