import { DatabaseError, InvalidOptionError } from '../../errors.ts'
import type { Query, Queryable, Row } from '../database.ts'
import { type PostgresJsQueryable, queryPostgresJs } from './postgres-js.ts'
import { callMethod, hasMethod, property } from './property.ts'
import { translateError } from './translate-error.ts'

/**
 * The caller's own transaction, recognised by its shape: what is written through it is committed
 * and rolled back with his own statements. It may be a pg client after `begin`, a postgres.js or
 * PGlite transaction, or anything with `query(text, values)` that answers `{ rows }` or an array.
 *
 * Statements are sent unnamed, so that they are planned each time: plans are pinned on our own
 * connections only, and nothing is left behind on his.
 *
 * Throws InvalidOptionError for a pool, a whole database, a pg client outside a transaction, and
 * for what is none of these.
 *
 * @example
 * ```ts
 * const client = await pool.connect()
 * await client.query('begin')
 * const transaction = borrowedTransaction(client)
 * await transaction.query({ name: 'one', text: 'select 1 as one', values: [] })
 * await client.query('commit')
 * ```
 */
export function borrowedTransaction(tx: unknown): Queryable {
  if (isWhole(tx)) throw new InvalidOptionError('tx', nameOf(tx), WHOLE)
  const send = senderOf(tx)
  if (send === undefined) throw new InvalidOptionError('tx', nameOf(tx), UNKNOWN_SHAPE)
  if (statusOf(tx) === 'I') throw new InvalidOptionError('tx', nameOf(tx), NOT_BEGUN)
  return {
    async query(query) {
      demandOpen(tx, query)
      try {
        return await send(query)
      } catch (error) {
        // Nothing of it is committed yet: that is the caller's to do.
        throw translateError(error, { statement: query.name, mayHaveApplied: false })
      }
    },
  }
}

const WHOLE =
  'mill.in() wants a transaction; this is a pool or a whole database. Use mill.enqueue(), or open a transaction and pass that.'
const UNKNOWN_SHAPE =
  'mill.in() does not know this transaction: pass one of pg, postgres.js, PGlite, or { query(text, values) }.'
const NOT_BEGUN =
  'mill.in() wants a transaction; none is open on this client. Await client.query("begin") first, or use mill.enqueue().'

type Send = (query: Query) => Promise<readonly Row[]>

// A pg.Pool has `totalCount`, a PGlite `waitReady`. Of postgres.js only transactions have
// `savepoint`: the rest is the whole `sql`, or a reserved connection, which may be outside any.
function isWhole(tx: unknown): boolean {
  const isPool = property(tx, 'totalCount') !== undefined
  const isPostgresJs = hasMethod(tx, 'unsafe') && !hasMethod(tx, 'savepoint')
  return isPool || isPostgresJs || property(tx, 'waitReady') !== undefined
}

function senderOf(tx: unknown): Send | undefined {
  if (isPostgresJs(tx)) return async (query) => named(await queryPostgresJs(tx, query, false))
  if (isQuerier(tx)) {
    return async ({ text, values }) => named(rowsOf(await tx.query(text, [...values])))
  }
  return undefined
}

function isPostgresJs(tx: unknown): tx is PostgresJsQueryable {
  return hasMethod(tx, 'unsafe') && hasMethod(tx, 'typed')
}

interface Querier {
  query(text: string, values: unknown[]): unknown
}

function isQuerier(tx: unknown): tx is Querier {
  return hasMethod(tx, 'query')
}

function rowsOf(answer: unknown): readonly Row[] {
  const rows = Array.isArray(answer) ? answer : property(answer, 'rows')
  if (isRows(rows)) return rows
  throw new Error('query(text, values) answered neither { rows } nor an array of rows')
}

function isRows(value: unknown): value is readonly Row[] {
  return Array.isArray(value)
}

// The caller may have told his library to rename columns (`transform: postgres.camel`). Ours are in
// snake_case, with no digit after a line, so that what became of them can be undone.
function named(rows: readonly Row[]): readonly Row[] {
  const isRenamed = Object.keys(rows[0] ?? {}).some((column) => /[A-Z-]/.test(column))
  if (!isRenamed) return rows
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([column, value]) => [snakeCase(column), value])),
  )
}

function snakeCase(column: string): string {
  const parted = column.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return parted.replaceAll('-', '_').replace(/^_/, '')
}

// On a client whose transaction is over the statement would be committed at once, by itself. One
// whose transaction failed is asked all the same: a savepoint may be there to go back to.
function demandOpen(tx: unknown, { name }: Query): void {
  if (statusOf(tx) !== 'I' && property(tx, 'closed') !== true) return
  throw new DatabaseError(
    `statement ${name} was not sent: its transaction has ended. Enqueue before the commit, or use mill.enqueue().`,
    { sqlstate: null, statement: name, retryable: false, outcomeUnknown: false },
  )
}

// Of pg 8.23 and later: I is idle (no transaction), T inside one, E inside one that failed.
function statusOf(tx: unknown): unknown {
  return callMethod(tx, 'getTransactionStatus')
}

function nameOf(tx: unknown): unknown {
  return property(property(tx, 'constructor'), 'name') ?? tx
}
