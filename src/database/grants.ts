import { DatabaseError, InvalidNameError } from '../errors.ts'
import { expectedCatalogue, HISTORY } from './catalogue.ts'
import type { Session } from './database.ts'
import { quoted } from './namespace.ts'
import type { Namespace } from './namespace.ts'

/**
 * What a role needs to work with a namespace that another role owns and migrates: to use the
 * schema, to read and write the tables, to read the views and the history. Never to create, alter
 * or drop. Run again after each migration that adds a table; granting twice changes nothing.
 */
export function grantStatements(namespace: Namespace, role: string): readonly string[] {
  const grantee = quoted(role)
  const schema = quoted(namespace.schema)
  const named = (name: string): string => `${schema}.${quoted(namespace.prefix + name)}`
  return [
    `grant usage on schema ${schema} to ${grantee}`,
    `grant select on table ${named(HISTORY)} to ${grantee}`,
    ...expectedCatalogue().flatMap(({ what, name }) => {
      if (name === HISTORY) return []
      if (what === 'table') return [`grant ${WORK} on table ${named(name)} to ${grantee}`]
      if (what === 'view') return [`grant select on table ${named(name)} to ${grantee}`]
      if (what === 'function') return [`grant execute on function ${named(name)} to ${grantee}`]
      return []
    }),
  ]
}

/** Runs them in one transaction, as the owner of the tables. */
export async function grantRole(
  session: Session,
  namespace: Namespace,
  role: string,
): Promise<readonly string[]> {
  const statements = grantStatements(namespace, role)
  try {
    await session.transaction((transaction) => transaction.execute(statements.join(';\n')))
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.sqlstate !== UNDEFINED_ROLE) throw error
    throw new InvalidNameError(
      'role',
      role,
      `the server has no such role. Create it first: create role ${quoted(role)} login`,
    )
  }
  return statements
}

const UNDEFINED_ROLE = '42704'
const WORK = 'select, insert, update, delete'
