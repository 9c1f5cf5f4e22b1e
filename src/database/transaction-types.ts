/** node-postgres clients, PGlite transactions, or anything of yours with `query(text, values)`. */
interface ByQuery {
  query(text: string, values: never): unknown
}

/** postgres.js transactions. */
interface ByUnsafe {
  unsafe(text: string, values: never): unknown
}

/** What can be told from a transaction by its shape: a pg.Pool, a PGlite, a postgres.js `sql`. */
type Whole =
  | { readonly totalCount: number }
  | { readonly waitReady: unknown }
  | { begin(...values: never[]): unknown }

/**
 * `T` when it can be a transaction of yours, else a sentence that says why not, so that the
 * mistake is a compile error. A pg client outside `begin` cannot be told by its type; that is
 * refused when it is used.
 *
 * @example
 * ```ts
 * declare function inside<T>(tx: T & Tx<T>): void
 *
 * await sql.begin(async (tx) => inside(tx))
 * inside(pool) // does not compile
 * ```
 */
export type Tx<T> = T extends ByQuery | ByUnsafe
  ? T extends Whole
    ? 'mill.in() wants a transaction; this is a pool or a whole database. Use mill.enqueue(), or open a transaction and pass that.'
    : T
  : 'mill.in() does not know this transaction: pass one of pg, postgres.js, PGlite, or { query(text, values) }.'
