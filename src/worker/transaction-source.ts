import { callMethod, hasMethod } from '../database/drivers/property.ts'
import { InvalidOptionError } from '../errors.ts'

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

/** Opens a transaction of the caller's library around `work`. Throws `InvalidOptionError`. */
export async function openOn(
  db: unknown,
  work: (tx: unknown) => Promise<unknown>,
): Promise<unknown> {
  const open = ['begin', 'transaction'].find((name) => hasMethod(db, name))
  if (open === undefined) throw refused(db, UNKNOWN)
  // A transaction inside one commits with the outer one: the settlement could be taken back later.
  if (hasMethod(db, 'rollback') || hasMethod(db, 'savepoint')) throw refused(db, INSIDE)
  return callMethod(db, open, work)
}

const UNKNOWN =
  'pass what opens transactions, such as a postgres.js sql or a PGlite, or leave it out for a connection of ours.'
const INSIDE =
  'this is a transaction already, and the run must be settled by the one that commits. Pass the database itself.'

function refused(db: unknown, rule: string): InvalidOptionError {
  return new InvalidOptionError('db', db, rule)
}
