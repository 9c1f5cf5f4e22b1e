/**
 * What Millrace needs of a database library, and nothing more: sessions that run one query after
 * another, transactions on them, and a way to listen. Everything above this file is the same for
 * node-postgres, postgres.js and PGlite; `test/drivers/conformance.ts` holds all of them to it.
 *
 * Values are text, numbers, booleans or null: instants travel as ISO text, lists and documents as
 * JSON text or array literals, each cast in SQL, because libraries disagree about how they encode
 * anything richer (postgres.js encodes json strings twice). Columns come back as text, `int4`,
 * `float8` or `boolean` only, the four types on which all of them agree without settings.
 */
export type Value = string | number | boolean | null

export type Row = Readonly<Record<string, unknown>>

export interface Query {
  /** The statement's name: prepared under it where the session prepares, and quoted in errors. */
  readonly name: string
  readonly text: string
  readonly values: readonly Value[]
  /** Never prepared, whatever the session does. */
  readonly isAskedOnce?: true | undefined
}

/** Anything that runs a query: a session, a transaction on one, or the caller's own transaction. */
export interface Queryable {
  /** Rejects with `DatabaseError` and nothing else. */
  query(query: Query): Promise<readonly Row[]>
}

/**
 * One session with the server. Queries are sent in the order of the calls and never overlap.
 * A query without an answer after `timeoutMs` destroys the session: its outcome is unknown.
 */
export interface Session extends Queryable, AsyncDisposable {
  /** Several statements in one text, without values: migrations. */
  execute(text: string): Promise<void>
  /** `begin isolation level read committed` … `commit`, or `rollback` when `work` throws. Other queries of the session wait. */
  transaction<T>(work: (transaction: TransactionSession) => Promise<T>): Promise<T>
  /** True once the connection is gone; the session never comes back. */
  readonly isLost: boolean
  /** True once a query had no answer in its time, of which the connection was given up. */
  readonly wentSilent: boolean
  /** Behind what is under way. */
  close(): Promise<void>
  /** Ends the connection at once: what is under way fails, its outcome unknown. One that is shared stays. */
  giveUp(): void
}

export interface TransactionSession extends Queryable {
  execute(text: string): Promise<void>
}

export interface SessionOptions {
  /** Ends in `application_name` after `millrace `, so that people can tell connections apart. */
  readonly purpose: string
  /** How long one query may take before the session is given up. */
  readonly timeoutMs: number
  /** Prepare named statements (default of the drivers: true); off behind poolers that cannot. */
  readonly prepare?: boolean | undefined
  /** The application's statements run on it too: names without a schema are found as its role says. Default false. */
  readonly isShared?: boolean | undefined
}

export interface ListenHandlers {
  readonly onNotification: (payload: string) => void
  /** Called once when the listening connection is gone. */
  readonly onLost: (error: unknown) => void
}

export interface Listening extends AsyncDisposable {
  close(): Promise<void>
  /** A round trip on the listening connection; rejects when it is dead. Finds half-open sockets. */
  ping(timeoutMs: number): Promise<void>
  /** Listens on one more channel, on the same connection; resolves once it does. */
  add(channel: string, onNotification: (payload: string) => void): Promise<void>
  /** No more of a channel that was added. */
  remove(channel: string): Promise<void>
}

/** A database library with the configuration of one database. */
export interface Engine extends AsyncDisposable {
  readonly driver: 'node-postgres' | 'postgres.js' | 'pglite'
  /** One connection serves every session (PGlite): nothing runs beside anything. */
  readonly isSingleConnection: boolean
  /** A new connection of our own: READ COMMITTED, plans pinned by startup options (`enable_seqscan`, `enable_bitmapscan` and `jit` off), and, unless shared, no names but PostgreSQL's own without a schema. */
  connect(options: SessionOptions): Promise<Session>
  listen(channel: string, handlers: ListenHandlers): Promise<Listening>
  /** Closes what the engine opened itself; a pool or PGlite that the caller passed stays open. */
  close(): Promise<void>
}

/**
 * Startup options of our own sessions. Queue tables are empty or stale when they are analyzed; the
 * planner then scans them whole, and bitmap scans lock rows out of id order, which deadlocks
 * (docs/adr/0005). Only these two: without sorts or hash joins other plans get worse. And nothing is
 * compiled: up to 17 a path that is switched off but needed costs 10 to the 10th, for which the server
 * compiles each statement of a millisecond for hundreds of them.
 */
export const PLAN_SETTINGS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
}

/** PostgreSQL's own limit for `statement_timeout`, in milliseconds. */
export const LONGEST_STATEMENT: number = 2 ** 31 - 1
