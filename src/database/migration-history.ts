import type { MigrationProblem } from '../errors.ts'
import type { Queryable, Row } from './database.ts'
import { installCommand, migrationCommand } from './migration-command.ts'
import type { Migration } from './migration-files.ts'
import { migrationHistory } from './migration-statements.ts'
import type { Namespace } from './namespace.ts'
import { release } from './release.ts'
import { bind } from './statement.ts'

/** What is wrong, for programs; the sentence and the command are for people. */
export interface DatabaseProblem extends MigrationProblem {
  readonly code: ProblemCode
}

export type ProblemCode =
  | 'missing'
  | 'behind'
  | 'ahead'
  | 'edited'
  | 'unknown'
  | 'late'
  | 'drifted'
  | 'unreadable'

/** One row of the history. */
export interface AppliedMigration {
  readonly id: number
  readonly name: string
  readonly checksum: string
  readonly compatibleFrom: number
  /** Milliseconds since the Unix epoch. */
  readonly appliedAt: number
  readonly release: string | null
}

/** Reads the history of a namespace that has one. */
export async function readHistory(
  queryable: Queryable,
  namespace: Namespace,
): Promise<readonly AppliedMigration[]> {
  const rows = await queryable.query(bind(migrationHistory, {}, namespace))
  return rows.map(appliedMigration)
}

/** The number of the newest migration, 0 for none. */
export function versionOf(migrations: readonly { readonly id: number }[]): number {
  return migrations.reduce((newest, { id }) => Math.max(newest, id), 0)
}

/**
 * Everything that sets the history apart from the migrations of this release, worst first: what
 * must not be touched before it is understood (edited, unknown, ahead), then what `migrate up` puts
 * right. A history that goes beyond this release is no problem while each further migration says
 * that this release can work with it: so an old release goes on while a new one is rolled out.
 */
export function historyProblems(
  released: readonly Migration[],
  applied: readonly AppliedMigration[],
  namespace: Namespace,
): readonly DatabaseProblem[] {
  return [
    ...applied.flatMap((row) => editedProblem(row, released)),
    ...applied.flatMap((row) => unknownProblem(row, released)),
    ...aheadProblem({ released, applied, namespace }),
    ...lateMigrations(released, applied).map((file) => lateProblem(file, applied, namespace)),
    ...behindProblem({ released, applied, namespace }),
  ]
}

/** What is still to be applied after the newest that was. */
export function pendingMigrations(
  released: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const newest = versionOf(applied)
  return released.filter(({ id }) => id > newest)
}

/** What was passed over: older than the newest applied, and never applied. */
export function lateMigrations(
  released: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const newest = versionOf(applied)
  return released.filter(({ id }) => id < newest && !applied.some((row) => row.id === id))
}

interface Comparison {
  readonly released: readonly Migration[]
  readonly applied: readonly AppliedMigration[]
  readonly namespace: Namespace
}

function editedProblem(
  row: AppliedMigration,
  released: readonly Migration[],
): readonly DatabaseProblem[] {
  const file = released.find(({ id }) => id === row.id)
  if (file === undefined) return []
  if (file.name === row.name && file.checksum === row.checksum) return []
  const what =
    file.name === row.name
      ? `migration ${row.name} was edited after it was applied: the history has checksum ${row.checksum.slice(0, 12)}, the file ${file.checksum.slice(0, 12)}. Restore the released file`
      : `migration ${row.id} was applied as ${row.name}, this release has ${file.name}. Restore the released files`
  return [{ code: 'edited', what, command: restoreCommand(row) }]
}

// npm ci lays every package out anew; npm install would leave an edited file of the same version.
function restoreCommand(row: AppliedMigration): string {
  return row.release === null || row.release === release() ? 'npm ci' : installCommand(row.release)
}

function unknownProblem(
  row: AppliedMigration,
  released: readonly Migration[],
): readonly DatabaseProblem[] {
  if (row.id > versionOf(released) || released.some(({ id }) => id === row.id)) return []
  const by = row.release === null ? '' : ` by release ${row.release}`
  return [
    {
      code: 'unknown',
      what: `migration ${row.name} was applied${by}, release ${release()} has no such file. Use the release it came with`,
      command: installCommand(row.release),
    },
  ]
}

function aheadProblem({ released, applied, namespace }: Comparison): readonly DatabaseProblem[] {
  const known = versionOf(released)
  const refusing = applied.filter((row) => row.id > known && row.compatibleFrom > known)
  const newest = refusing.at(-1)
  if (newest === undefined) return []
  return [
    {
      code: 'ahead',
      what: `${placeText(namespace)} is at version ${versionOf(applied)}, release ${release()} knows ${known}, and ${newest.name} works only with releases that know ${newest.compatibleFrom}`,
      command: installCommand(newest.release),
    },
  ]
}

function lateProblem(
  file: Migration,
  applied: readonly AppliedMigration[],
  namespace: Namespace,
): DatabaseProblem {
  return {
    code: 'late',
    what: `migration ${file.name} was never applied, though the history goes on to ${versionOf(applied)}`,
    command: migrationCommand(namespace, 'up --late'),
  }
}

function behindProblem({ released, applied, namespace }: Comparison): readonly DatabaseProblem[] {
  if (pendingMigrations(released, applied).length === 0) return []
  return [
    {
      code: 'behind',
      what: `${placeText(namespace)} is at version ${versionOf(applied)}, this release needs ${versionOf(released)}`,
      command: migrationCommand(namespace, 'up'),
    },
  ]
}

/** The namespace as a sentence names it. */
export function placeText({ schema, prefix }: Namespace): string {
  return prefix === '' ? `schema "${schema}"` : `schema "${schema}" with prefix "${prefix}"`
}

/** The door where history rows come in. */
function appliedMigration(row: Row): AppliedMigration {
  const { release: by } = row
  return {
    id: Number(row['id']),
    name: String(row['name']),
    checksum: String(row['checksum']),
    compatibleFrom: Number(row['compatible_from']),
    appliedAt: Number(row['applied_at']),
    release: typeof by === 'string' ? by : null,
  }
}
