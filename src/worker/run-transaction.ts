import type { Executor, Runner } from '../database/executor.ts'
import type { Queryable, Value } from '../database/database.ts'
import { borrowedTransaction } from '../database/drivers/borrowed.ts'
import { callMethod, hasMethod } from '../database/drivers/property.ts'
import { DatabaseError, InvalidOptionError, LeaseLostError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import type { Producer } from '../jobs/producer.ts'
import { boundTransaction, lockLease } from './lease-statements.ts'
import { settledRuns, settleRuns } from './settle-statements.ts'
import type { FateRow } from './settle-statements.ts'
import type { TransactionPool } from './transaction-pool.ts'

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

/** What opens transactions, so that `run.transaction(db, fn)` gives `fn` your own library's. */
export type TransactionSource =
  | { transaction(...values: never[]): unknown }
  | { begin(...values: never[]): unknown }

/** The transaction that `Db` opens. */
export type TransactionOf<Db> = Db extends {
  begin(options: string, fn: (tx: infer T) => unknown): unknown
}
  ? T
  : Db extends { transaction(fn: (tx: infer T) => Promise<unknown>, ...rest: never[]): unknown }
    ? T
    : never

/** A run that settles itself inside a transaction. */
export interface SelfSettling {
  readonly id: string
  readonly run: number
  readonly kind: string
  readonly leaseMs: number
  /** The fate once `fn` is through, with what `fn` gave; follow-ups are all checked by then. */
  readonly settlement: (value: unknown) => Promise<{ fate: FateRow; followUps: readonly Ask[] }>
}

export interface TransactionServices {
  readonly worker: string
  readonly executor: Executor
  readonly pool: TransactionPool
  /** The verbs of a producer on a transaction. */
  readonly producerOn: (transaction: Queryable) => Producer
  /** Writes asks on a transaction. */
  readonly writeAsks: (runner: Runner, asks: readonly Ask[]) => Promise<unknown>
  readonly hintUntil: () => string
}

/** On a connection of ours. */
export function ownTransaction<T>(
  run: SelfSettling,
  fn: (tx: Transaction) => Promise<T>,
  services: TransactionServices,
): Promise<T> {
  return decided(run, services, (settle) =>
    services.pool.transaction(async (transaction) => {
      const runner = await services.executor.borrow(transaction)
      await runner.run(boundTransaction, { idle_ms: String(Math.ceil(run.leaseMs)) })
      return settle({ runner, isForeign: false }, () => fn(transactionOn(transaction, services)))
    }),
  )
}

/** In a transaction that the caller's own library opens, on the same database. */
export function foreignTransaction<T>(
  run: SelfSettling,
  { db, fn }: { readonly db: unknown; readonly fn: (tx: unknown) => Promise<T> },
  services: TransactionServices,
): Promise<T> {
  return decided(run, services, (settle) =>
    openOn(db, async (tx) => {
      const runner = await services.executor.borrow(borrowedTransaction(tx))
      return settle({ runner, isForeign: true }, () => fn(tx))
    }),
  )
}

interface Place {
  readonly runner: Runner
  readonly isForeign: boolean
}

type Settle<T> = (place: Place, fn: () => Promise<T>) => Promise<T>

/** A commit whose answer was lost is looked up: the record of the run tells whether all of it is there (M8). */
async function decided<T>(
  run: SelfSettling,
  services: TransactionServices,
  open: (settle: Settle<T>) => Promise<T>,
): Promise<T> {
  let settled: { readonly value: T } | undefined
  try {
    return await open(async (place, fn) => {
      const value = await settledWith(run, { place, services }, fn)
      settled = { value }
      return value
    })
  } catch (error) {
    if (settled === undefined || !mayHaveCommitted(error)) throw error
    const runs = JSON.stringify([{ id: run.id, run: run.run }])
    const { executor, worker } = services
    const found = await executor.lane('settle').run(settledRuns, { runs, worker })
    if (found.length === 0) throw error
    return settled.value
  }
}

async function settledWith<T>(
  run: SelfSettling,
  { place, services }: { readonly place: Place; readonly services: TransactionServices },
  fn: () => Promise<T>,
): Promise<T> {
  const { runner, isForeign } = place
  const { worker, hintUntil } = services
  const locked = await runner.run(lockLease, { id: run.id, run: run.run, worker })
  if (locked.length === 0) throw noLease(run, isForeign)
  const value = await fn()
  const { fate, followUps } = await run.settlement(value)
  if (followUps.length > 0) await services.writeAsks(runner, followUps)
  const settled = await runner.run(settleRuns, {
    fates: JSON.stringify([fate]),
    follow_ups: '[]',
    worker,
    hint_until: hintUntil(),
  })
  if (settled.length === 0) throw new LeaseLostError(run.id, run.run)
  return value
}

// A library of the caller's reports a lost connection in its own words.
function mayHaveCommitted(error: unknown): boolean {
  return !(error instanceof DatabaseError) || error.outcomeUnknown
}

function noLease(run: SelfSettling, isForeign: boolean): Error {
  const lost = new LeaseLostError(run.id, run.run)
  if (!isForeign) return lost
  return new InvalidOptionError('db', 'a database without this run', {
    text:
      `job ${run.id} has no lease there. Pass what opens transactions on the database and schema ` +
      'that this worker claims from; if it does, the run has lost its lease.',
    cause: lost,
  })
}

function transactionOn(transaction: Queryable, services: TransactionServices): Transaction {
  return {
    ...services.producerOn(transaction),
    async query<Row>(text: string, values: readonly unknown[] = []) {
      const query = { name: 'run.transaction', text, values: valuesOf(values) }
      return { rows: rowsOf<Row>(await transaction.query(query)) }
    },
  }
}

function openOn<T>(db: unknown, work: (tx: unknown) => Promise<T>): Promise<T> {
  const open = ['begin', 'transaction'].find((name) => hasMethod(db, name))
  if (open === undefined) {
    throw new InvalidOptionError(
      'db',
      db,
      'pass a postgres.js sql or a PGlite, or leave it out for a connection of ours',
    )
  }
  return awaited<T>(callMethod(db, open, work))
}

/** The doors to the caller's own statement and library: their types are his word. */
function rowsOf<Row>(rows: readonly unknown[]): Row[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door itself
  return rows as Row[]
}

function valuesOf(values: readonly unknown[]): readonly Value[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library encodes what he gives
  return values as readonly Value[]
}

async function awaited<T>(result: unknown): Promise<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- libraries give back what the work gave
  return (await result) as T
}
