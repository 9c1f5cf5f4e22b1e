import { engineFor } from './database/connect.ts'
import type { Database } from './database/connect.ts'
import type { Engine, Session } from './database/database.ts'
import { grantRole, grantStatements } from './database/grants.ts'
import { migrateUp, MIGRATION_TIMEOUT } from './database/migrate.ts'
import type { Migrated } from './database/migrate.ts'
import { exportMigrations } from './database/migration-export.ts'
import { migrationStatus } from './database/migration-status.ts'
import type { MigrationStatus } from './database/migration-status.ts'
import { namespace } from './database/namespace.ts'
import type { Namespace } from './database/namespace.ts'

export interface MigrationsOptions {
  /** Default: `millrace`. */
  schema?: string | undefined
  /** Stands before the name of every table. Default: none. */
  prefix?: string | undefined
}

export interface UpOptions {
  /** Apply what was passed over as well: migrations older than the newest applied. Default: false, refuse. */
  late?: boolean | undefined
}

export interface GrantOptions {
  /** Answer the statements, run nothing. Default: false. */
  dryRun?: boolean | undefined
}

/**
 * The tables of one namespace: what `millrace migrate` does, for programs. Connects when first
 * needed, on a connection of its own; `close` it, or declare it with `await using`.
 *
 * @example
 * await using tables = migrations({ env: 'DATABASE_URL' }, { schema: 'work' })
 * await tables.up()
 */
export interface Migrations extends AsyncDisposable {
  /**
   * Applies what is missing, one transaction each, and waits for others who do the same. Nothing
   * to do is no error. Throws `MigrationError` when a migration fails (it and all after it are not
   * applied), `NotMigratedError` when the history does not fit this release.
   */
  up(options?: UpOptions): Promise<Migrated>
  /** The version, and every problem with the command that solves it. Creates nothing. */
  status(): Promise<MigrationStatus>
  /** Writes the migrations as SQL files for another tool and answers their paths. Needs no database. */
  export(directory: string): Promise<readonly string[]>
  /**
   * Lets a role that owns nothing work with the tables, and answers the statements that did it.
   * Throws `InvalidNameError` when there is no such role.
   */
  grants(role: string, options?: GrantOptions): Promise<readonly string[]>
  /** Ends its connection. A second call does nothing. */
  close(): Promise<void>
}

/** Throws `InvalidNameError` when schema or prefix cannot be one. */
export function migrations(database: Database, options: MigrationsOptions = {}): Migrations {
  return new OwnMigrations(database, namespace(options.schema, options.prefix))
}

class OwnMigrations implements Migrations {
  readonly #database: Database
  readonly #namespace: Namespace
  #engine: Promise<Engine> | undefined
  #session: Promise<Session> | undefined

  constructor(database: Database, place: Namespace) {
    this.#database = database
    this.#namespace = place
  }

  async up(options: UpOptions = {}): Promise<Migrated> {
    return migrateUp(await this.#connected(), this.#namespace, { late: options.late })
  }

  async status(): Promise<MigrationStatus> {
    return migrationStatus(await this.#connected(), this.#namespace)
  }

  export(directory: string): Promise<readonly string[]> {
    return exportMigrations(directory, this.#namespace)
  }

  async grants(role: string, options: GrantOptions = {}): Promise<readonly string[]> {
    if (options.dryRun === true) return grantStatements(this.#namespace, role)
    return grantRole(await this.#connected(), this.#namespace, role)
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined)
    await session?.close()
    const engine = await this.#engine?.catch(() => undefined)
    await engine?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #connected(): Promise<Session> {
    const known = await this.#session?.catch(() => undefined)
    if (known !== undefined && !known.isLost) return known
    this.#engine ??= engineFor(this.#database)
    const engine = await this.#engine
    this.#session = engine.connect({ purpose: 'migrate', timeoutMs: MIGRATION_TIMEOUT })
    return this.#session
  }
}
