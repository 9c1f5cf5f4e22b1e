import type { Executor, Runner } from '../database/executor.ts'
import type { Queryable, Value } from '../database/database.ts'
import { borrowedTransaction } from '../database/drivers/borrowed.ts'
import type { Ask } from '../jobs/ask.ts'
import type { Producer } from '../jobs/producer.ts'
import { boundTransaction, endTransaction, readCommitted } from './lease-statements.ts'
import { decided } from './settle-within.ts'
import type { ConnectionHolds } from './connection-holds.ts'
import type { FateRow } from './settle-statements.ts'
import { openOn } from './transaction-source.ts'
import type { TransactionBounds, TransactionPool } from './transaction-pool.ts'
import type { TransactionSeat } from './transaction-watch.ts'

/**
 * Effects and settlement in one transaction (O4). The lease is locked first, so that nobody can take
 * the job while its effects are being written: renewals and cancels pass that lock, recovery and
 * force do not. The guarded settlement is the last statement; where it finds no lease everything is
 * rolled back. So an effect is there exactly when its run is recorded.
 */
export interface Transaction extends Producer {
  /** Any statement of yours, with `$1 …` for values. */
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[] }>
}

/** A run that settles itself inside a transaction. */
export interface SelfSettling {
  readonly id: string
  readonly run: number
  readonly kind: string
  readonly leaseMs: number
  /** Aborts when the run was decided otherwise: the transaction rolls back. */
  readonly doom: AbortSignal
  /** The settlement is about to be written. */
  readonly onSettling: () => void
  /** The fate once `fn` is through, with what `fn` gave; follow-ups are all checked by then. */
  readonly settlement: (value: unknown) => Promise<{ fate: FateRow; followUps: readonly Ask[] }>
}

export interface TransactionServices {
  readonly worker: string
  readonly executor: Executor
  readonly pool: TransactionPool
  readonly holds: ConnectionHolds
  /** The verbs of a producer on a transaction. */
  readonly producerOn: (transaction: Queryable) => Producer
  /** Writes asks on a transaction. */
  readonly writeAsks: (runner: Runner, asks: readonly Ask[]) => Promise<unknown>
  readonly hintUntil: () => string
}

/**
 * On a connection of ours. When the run is decided otherwise, it ends there and then: the server is
 * told to end the session, since a statement may be under way on it and keeps the lease locked.
 */
export function ownTransaction<T>(
  run: SelfSettling,
  fn: (tx: Transaction) => Promise<T>,
  services: TransactionServices,
): Promise<T> {
  return decided(run, services, (settle) =>
    services.pool.transaction(run, async (transaction, onSession) => {
      const runner = await services.executor.borrow(transaction)
      const { leaseMs, doom } = run
      const unbind = await bound({ leaseMs, doom, onSession }, runner, services.executor)
      try {
        const work = (): Promise<T> => unless(run.doom, fn(transactionOn(transaction, services)))
        return await settle({ runner, isForeign: false }, work)
      } finally {
        unbind()
      }
    }),
  )
}

/**
 * Bounds what a handler that never comes back can hold. An embedded database must not end its one
 * session, and nothing waits for it there that could tell it to.
 */
export async function bound(
  {
    leaseMs,
    doom,
    onSession,
  }: TransactionBounds & { readonly onSession: (session: TransactionSeat) => void },
  runner: Runner,
  executor: Executor,
): Promise<() => void> {
  if (executor.engine.isSingleConnection) return () => undefined
  const idle_ms = String(Math.ceil(leaseMs))
  const [session] = await runner.run(boundTransaction, { idle_ms })
  if (session !== undefined) onSession(session)
  const end = (): void => {
    if (session === undefined) return
    const { pid, began } = session
    const ended = executor.lane('settle alone').run(endTransaction, { pid, began })
    // Where this fails it ends with its statement, or the server ends it for being idle.
    ended.catch(() => undefined)
  }
  doom.addEventListener('abort', end, { once: true })
  return () => doom.removeEventListener('abort', end)
}

/** In a transaction that the caller's own library opens, on the same database: only `fn` can end it. */
export function foreignTransaction<T>(
  run: SelfSettling,
  { db, fn }: { readonly db: unknown; readonly fn: (tx: unknown) => Promise<T> },
  services: TransactionServices,
): Promise<T> {
  return decided(run, services, (settle) =>
    openOn(db, async (tx) => {
      const runner = await services.executor.borrow(borrowedTransaction(tx))
      // A renewal meanwhile would make the settlement fail under a stricter level.
      await runner.run(readCommitted, {})
      return settle({ runner, isForeign: true }, () => fn(tx))
    }),
  )
}

/** As `work` ends, or rejected as soon as the signal aborts. */
export function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work.finally(() => signal.removeEventListener('abort', stop)).then(resolve, reject)
  })
}

/** What `fn` gets on a connection of ours. */
export function transactionOn(
  transaction: Queryable,
  services: Pick<TransactionServices, 'producerOn'>,
): Transaction {
  return {
    ...services.producerOn(transaction),
    async query<Row>(text: string, values: readonly unknown[] = []) {
      const query = { name: 'run.transaction', text, values: valuesOf(values) }
      return { rows: rowsOf<Row>(await transaction.query(query)) }
    },
  }
}

/** The doors to the caller's own statement: its types are his word. */
function rowsOf<Row>(rows: readonly unknown[]): Row[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door itself
  return rows as Row[]
}

function valuesOf(values: readonly unknown[]): readonly Value[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library encodes what he gives
  return values as readonly Value[]
}
