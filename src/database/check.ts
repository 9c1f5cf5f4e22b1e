import type { MigrationProblem } from '../errors.ts'
import { expectedCatalogue, lookupNames, readCatalogue } from './catalogue.ts'
import type { LiveCatalogue } from './catalogue.ts'
import type { Queryable } from './database.ts'
import { drift } from './drift.ts'
import { flag, migrationCommand } from './migration-command.ts'
import { releasedMigrations } from './migration-files.ts'
import type { Migration } from './migration-files.ts'
import { historyProblems, placeText, readHistory, versionOf } from './migration-history.ts'
import type { AppliedMigration, DatabaseProblem } from './migration-history.ts'
import type { Namespace } from './namespace.ts'

/** The database as the start check found it. */
export interface Inspection {
  readonly released: readonly Migration[]
  readonly applied: readonly AppliedMigration[]
  readonly problems: readonly DatabaseProblem[]
}

/**
 * Everything that keeps this release from working with this database, each with the command that
 * puts it right; nothing when all is well. Two quick queries; creates nothing, and does not fail
 * where there is no schema or it may not be read: that is a problem too.
 */
export async function checkDatabase(
  queryable: Queryable,
  namespace: Namespace,
): Promise<readonly MigrationProblem[]> {
  const { problems } = await inspectDatabase(queryable, namespace)
  return problems
}

/** As `checkDatabase`, with the history it read. */
export async function inspectDatabase(
  queryable: Queryable,
  namespace: Namespace,
  migrations?: readonly Migration[],
): Promise<Inspection> {
  const released = migrations ?? (await releasedMigrations())
  const expected = expectedCatalogue()
  const live = await readCatalogue(queryable, namespace, lookupNames(expected))
  if (!live.hasHistory) {
    return { released, applied: [], problems: [noHistory(live, namespace, versionOf(released))] }
  }
  const closed = live.unreadable.length === 0 ? [] : [unreadable(live, namespace)]
  if (!live.canReadHistory) return { released, applied: [], problems: closed }
  const applied = await readHistory(queryable, namespace)
  const version = versionOf(applied)
  // What a later migration changed is not for this release to judge.
  const isJudged = version <= versionOf(released)
  const drifted = isJudged
    ? drift(
        expected.filter(({ since }) => since <= version),
        live.objects,
        namespace,
      )
    : []
  return {
    released,
    applied,
    problems: [...closed, ...historyProblems(released, applied, namespace), ...drifted],
  }
}

function noHistory(live: LiveCatalogue, namespace: Namespace, needed: number): DatabaseProblem {
  const state = live.hasSchema
    ? `${placeText(namespace)} holds no tables of Millrace`
    : `the database has no schema "${namespace.schema}"`
  return {
    code: 'missing',
    what: `${state}, this release needs version ${needed}`,
    command: migrationCommand(namespace, 'up'),
  }
}

function unreadable(live: LiveCatalogue, namespace: Namespace): DatabaseProblem {
  return {
    code: 'unreadable',
    what: `role "${live.role}" may not use ${live.unreadable.join(', ')}. Let the owner grant it`,
    command: migrationCommand(namespace, `grants ${flag('--role', live.role)}`),
  }
}
