import type { Executor } from '../database/executor.ts'
import { openTransaction } from './lease-statements.ts'

/**
 * A connection may die without a word: its packets vanish, on the way there or back, and whoever
 * waits on it waits as long as a statement may take, while the lease of the run is renewed over
 * another one. So whoever has a transaction open asks the server, over another connection, whether
 * it is still there: an idle one is ended there when a lease has passed, one that was committed is
 * over. Twice in a row, since an answer may be on its way.
 */
export interface TransactionWatch {
  /** It has begun, in this session of the server. */
  found(seat: TransactionSeat): void
  end(): void
}

/** Where a transaction is: in which session of the server, and since when, in microseconds. */
export interface TransactionSeat {
  readonly pid: number
  readonly began: string
}

export interface WatchedTransaction {
  readonly leaseMs: number
  /** Ends the connection on this side: what waits on it fails. */
  readonly giveUp: () => void
}

const LOOKS_A_LEASE = 3
const LOOKS_APART = 1_000
const MOST_MISSED = 2
// To begin waits for nobody.
const BEGINS_WITHIN = { least: 5_000, most: 30_000 }

/** From before it begins. */
export function watchTransaction(
  { leaseMs, giveUp }: WatchedTransaction,
  executor: Executor,
): TransactionWatch {
  const { clock, engine } = executor
  if (engine.isSingleConnection) return { found: nothing, end: nothing }
  const everyMs = Math.max(LOOKS_APART, leaseMs / LOOKS_A_LEASE)
  const beginsWithin = Math.max(BEGINS_WITHIN.least, Math.min(BEGINS_WITHIN.most, leaseMs))
  let missed = 0
  let isOver = false
  let cancel = clock.after(beginsWithin, giveUp)

  async function look(seat: TransactionSeat): Promise<void> {
    const isThere = await asked(seat)
    if (isOver) return
    missed = isThere ? 0 : missed + 1
    if (missed < MOST_MISSED) lookLater(seat)
    else giveUp()
  }

  function lookLater(seat: TransactionSeat): void {
    cancel = clock.after(everyMs, () => void look(seat))
  }

  /** Where nobody answers there is nothing to be said. */
  async function asked({ pid, began }: TransactionSeat): Promise<boolean> {
    try {
      const rows = await executor.lane('settle alone').run(openTransaction, { pid, began })
      return rows.length > 0
    } catch {
      return true
    }
  }

  return {
    found(seat) {
      cancel()
      if (!isOver) lookLater(seat)
    },
    end() {
      isOver = true
      cancel()
    },
  }
}

function nothing(): void {}
