import { fileURLToPath } from 'node:url'
import { InvalidOptionError } from '../errors.ts'
import type { Engine } from './database.ts'
import { withoutPassword } from './drivers/connection-url.ts'
import { nodePostgresEngine } from './drivers/node-postgres.ts'
import { pgliteEngine } from './drivers/pglite.ts'
import type { Pglite } from './drivers/pglite-connection.ts'
import { postgresJsEngine } from './drivers/postgres-js.ts'
import { hasMethod, property } from './drivers/property.ts'

/** A `pg.Pool`. Its configuration is used, never its connections. */
export interface PgPool {
  query(text: string, values?: never): unknown
  readonly totalCount: number
  readonly options: object
}

/** The `sql` of postgres.js. Its configuration is used, never its connections. */
export interface PostgresJs {
  unsafe(text: string, values?: never): unknown
  begin(...values: never[]): unknown
  readonly options: object
}

/** A PGlite: PostgreSQL inside this process, on one connection that is shared with you. */
export interface Embedded {
  query(text: string, values?: never): unknown
  readonly waitReady: Promise<void>
}

/**
 * Where the data is: a PostgreSQL URL; `'memory:'`; a directory for the embedded database, written
 * as a path (`'./data'`, `'/var/lib/app'`, `'file:data'`); the name of an environment variable
 * that holds one of these; or the application's own pg.Pool, postgres.js `sql` or PGlite.
 *
 * @example
 * ```ts
 * const fromVariable: Database = { env: 'DATABASE_URL' }
 * const embedded: Database = './data'
 * const failover: Database = 'postgres://app@a:5432,b:5432/shop'
 * ```
 */
export type Database = string | { readonly env: string } | PgPool | PostgresJs | Embedded

/**
 * The engine for a database. Without an argument it is embedded, in memory; `undefined` in the
 * argument's place is an error (a variable that was not set must not lead to an empty database).
 * Nothing is connected yet.
 *
 * Rejects with InvalidOptionError for what is none of the shapes of `Database`.
 */
export async function engineFor(
  ...given: readonly [] | readonly [database: Database]
): Promise<Engine> {
  if (given.length === 0) return pgliteEngine({ memory: true })
  const [database] = given
  if (typeof database === 'string') return engineForText('database', database)
  if (isVariable(database)) return engineForVariable(database.env)
  return engineForObject(database)
}

function engineForVariable(name: string): Engine {
  const text = process.env[name]?.trim() ?? ''
  if (text !== '') return engineForText(name, text)
  const what = process.env[name] === undefined ? 'is not set' : 'is empty'
  throw new InvalidOptionError(
    'env',
    name,
    `the environment variable ${name} ${what}. Set it to a PostgreSQL URL, for example ` +
      `${name}=postgres://user:password@localhost:5432/app`,
  )
}

// Only what looks like a path is one: a mistyped URL must not make a directory of that name.
function engineForText(option: string, text: string): Engine {
  if (/^postgres(?:ql)?:\/\//i.test(text)) return nodePostgresEngine({ url: text })
  if (text === 'memory:') return pgliteEngine({ memory: true })
  if (text.startsWith('file:')) return pgliteEngine({ directory: directoryOf(option, text) })
  if (/^(?:\.{1,2}\/|\/)/.test(text)) return pgliteEngine({ directory: text })
  const meant = /^[\w.-]+$/.test(text) ? `did you mean "./${text}"? ` : ''
  throw new InvalidOptionError(
    option,
    withoutPassword(text),
    `${meant}Give a URL (postgres://…), "memory:", or a directory that begins with ./ ../ / or file:`,
  )
}

function directoryOf(option: string, text: string): string {
  const path = text.startsWith('file://') ? urlPath(option, text) : text.slice('file:'.length)
  if (path === '') throw new InvalidOptionError(option, text, 'it names no directory: file:./data')
  return path
}

function urlPath(option: string, text: string): string {
  try {
    return fileURLToPath(text)
  } catch {
    // Without its cause, which holds the whole text.
    const rule = 'it is no file URL of this machine. Write file:./data or file:///var/lib/app'
    throw new InvalidOptionError(option, withoutPassword(text), rule)
  }
}

function engineForObject(database: unknown): Engine {
  if (isPool(database)) return nodePostgresEngine({ pool: database })
  if (isPostgresJs(database)) return postgresJsEngine(database)
  if (isPglite(database)) return pgliteEngine({ instance: database })
  throw new InvalidOptionError(
    'database',
    nameOf(database),
    `${hint(database)}Give a URL, "memory:", a directory, { env: 'DATABASE_URL' }, a pg.Pool, a postgres.js sql or a PGlite.`,
  )
}

function isVariable(database: unknown): database is { readonly env: string } {
  return typeof property(database, 'env') === 'string'
}

function isPool(database: unknown): database is PgPool {
  return typeof property(database, 'totalCount') === 'number' && hasOptions(database)
}

function isPostgresJs(database: unknown): database is PostgresJs {
  return hasMethod(database, 'unsafe') && hasMethod(database, 'begin') && hasOptions(database)
}

function isPglite(database: unknown): database is Pglite {
  const hasMethods = ['query', 'exec', 'transaction', 'listen'].every((name) =>
    hasMethod(database, name),
  )
  return hasMethods && property(database, 'waitReady') !== undefined
}

function hasOptions(database: unknown): boolean {
  return typeof property(database, 'options') === 'object'
}

function hint(database: unknown): string {
  if (database === undefined)
    return 'open() alone is the embedded database, open(undefined) is a mistake. '
  if (hasMethod(database, 'query') || hasMethod(database, 'unsafe')) {
    return 'this is one connection or a transaction: give what opens them, or use mill.in(tx). '
  }
  return ''
}

function nameOf(database: unknown): unknown {
  if (typeof database !== 'object' || database === null) return database
  return property(property(database, 'constructor'), 'name') ?? database
}
