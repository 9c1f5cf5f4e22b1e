import { borrowedTransaction } from '../database/drivers/borrowed.ts'
import type { Runner } from '../database/executor.ts'
import { readCommitted } from './lease-statements.ts'
import { bound, transactionOn, unless } from './run-transaction.ts'
import type { TransactionServices } from './run-transaction.ts'
import { transactionPool } from './transaction-pool.ts'
import type { TransactionPool } from './transaction-pool.ts'
import { openOn } from './transaction-source.ts'

/**
 * The transactions of `mill.consume`, one for each batch: opened as those of `run.transaction` are,
 * on a connection of ours or by the caller's own library. What makes the effects hold, the move of
 * the offset, is the caller's of this file.
 */
export interface BatchTransactions {
  /** Opened by `source`, or, where that is undefined, on a connection of ours. */
  of(source: unknown): OpenBatch
  close(): Promise<void>
}

export interface OpenBatch {
  run(
    bounds: { readonly leaseMs: number; readonly doom: AbortSignal },
    work: (tx: unknown, runner: Runner) => Promise<void>,
  ): Promise<void>
  readonly isForeign: boolean
}

export function batchTransactions(
  services: Pick<TransactionServices, 'executor' | 'producerOn'>,
): BatchTransactions {
  const { executor } = services
  const pool = transactionPool(executor)
  return {
    of: (source) =>
      source === undefined ? ownBatch(pool, services) : foreignBatch(source, executor),
    close: pool.close,
  }
}

function ownBatch(
  pool: TransactionPool,
  services: Pick<TransactionServices, 'executor' | 'producerOn'>,
): OpenBatch {
  const { executor } = services
  return {
    isForeign: false,
    run: (bounds, work) =>
      pool.transaction(bounds, async (transaction, onSession) => {
        const runner = await executor.borrow(transaction)
        const unbind = await bound({ ...bounds, onSession }, runner, executor)
        try {
          await unless(bounds.doom, work(transactionOn(transaction, services), runner))
        } finally {
          unbind()
        }
      }),
  }
}

function foreignBatch(source: unknown, executor: TransactionServices['executor']): OpenBatch {
  return {
    isForeign: true,
    async run(_bounds, work) {
      await openOn(source, async (tx) => {
        const runner = await executor.borrow(borrowedTransaction(tx))
        // The move reads what was committed until then, whatever the library's default is.
        await runner.run(readCommitted, {})
        await work(tx, runner)
      })
    },
  }
}
