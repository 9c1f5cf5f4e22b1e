import { inspectDatabase } from './check.ts'
import type { Queryable } from './database.ts'
import type { Migration } from './migration-files.ts'
import { versionOf } from './migration-history.ts'
import type { AppliedMigration, DatabaseProblem } from './migration-history.ts'
import type { Namespace } from './namespace.ts'

/** One migration as the database and this release see it. */
export interface MigrationState {
  readonly id: number
  /** The file: `0001-jobs.sql`. */
  readonly name: string
  /** `unknown`: the history has it, this release does not. */
  readonly state: 'applied' | 'pending' | 'unknown'
  readonly appliedAt: Date | null
  /** The release that applied it; null while pending, or when another tool ran the exported file. */
  readonly release: string | null
}

/** The version of a namespace, and everything that is wrong with it. */
export interface MigrationStatus {
  readonly schema: string
  readonly prefix: string
  /** The newest migration applied; 0 for none. */
  readonly version: number
  /** The newest migration of this release. */
  readonly needed: number
  readonly migrations: readonly MigrationState[]
  /** Empty when this release can work with the database. */
  readonly problems: readonly DatabaseProblem[]
}

/** Reads only: creates nothing, also where there is no schema yet. */
export async function migrationStatus(
  queryable: Queryable,
  namespace: Namespace,
): Promise<MigrationStatus> {
  const { released, applied, problems } = await inspectDatabase(queryable, namespace)
  return {
    schema: namespace.schema,
    prefix: namespace.prefix,
    version: versionOf(applied),
    needed: versionOf(released),
    migrations: migrationStates(released, applied),
    problems,
  }
}

function migrationStates(
  released: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly MigrationState[] {
  const done = applied.map(({ id, name, appliedAt, release }): MigrationState => {
    const state = released.some((file) => file.id === id) ? 'applied' : 'unknown'
    return { id, name, state, appliedAt: new Date(appliedAt), release }
  })
  const open = released
    .filter(({ id }) => !applied.some((row) => row.id === id))
    .map(({ id, name }): MigrationState => {
      return { id, name, state: 'pending', appliedAt: null, release: null }
    })
  return [...done, ...open].toSorted((one, other) => one.id - other.id)
}
