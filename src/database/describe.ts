import { DatabaseError } from '../errors.ts'
import type { Session, TransactionSession } from './database.ts'
import { property } from './drivers/property.ts'
import type { Namespace } from './namespace.ts'
import { bind, render, statement } from './statement.ts'
import type { Statement } from './statement.ts'

/**
 * What the server says of a statement without running it: it is prepared under a name, the server's
 * own list of prepared statements tells the types, and it is let go. Plain SQL, so that every
 * database library can do it.
 */
export type Description = DescribedTypes | RefusedStatement

export interface DescribedTypes {
  readonly parameters: readonly string[]
  /** Null where the server does not tell: before version 16, and where nothing is returned. */
  readonly columns: readonly string[] | null
}

export interface RefusedStatement {
  readonly error: DatabaseError
  /** Where in the rendered text, from 1; null where the server names no place. */
  readonly line: number | null
  readonly column: number | null
}

/** Rejects where the server does not answer at all. */
export async function describeStatement(
  session: Session,
  each: Statement<never>,
  place: Namespace,
): Promise<Description> {
  const text = render(each, place)
  try {
    // Together in a transaction: behind a pooler the next query may find another session.
    return await session.transaction((transaction) => prepared(transaction, text, place))
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.sqlstate === null || session.isLost) throw error
    return { error, ...positionIn(text, error) }
  }
}

/** What can be described: savepoints and settings of a transaction have no types. */
export function isDescribable({ text }: Pick<Statement, 'text'>): boolean {
  return /^(?:select|with|insert|update|delete)\b/.test(text)
}

/** In a line of its own, so that columns in the text stay what they are. */
const PREPARE = 'prepare millrace_described as\n'

export const describedStatement: Statement<Record<string, never>, { types: string }> = statement(
  'described_statement',
  `
select json_build_object('parameters', to_json(p) -> 'parameter_types', 'columns', to_json(p) -> 'result_types')::text as types
from pg_catalog.pg_prepared_statements p
where p.name = 'millrace_described'`,
)

async function prepared(
  transaction: TransactionSession,
  text: string,
  place: Namespace,
): Promise<DescribedTypes> {
  await transaction.execute(PREPARE + text)
  const [row] = await transaction.query(bind(describedStatement, {}, place))
  await transaction.execute('deallocate millrace_described')
  const types: unknown = JSON.parse(String(row?.['types']))
  return {
    parameters: namesIn(property(types, 'parameters')) ?? [],
    columns: namesIn(property(types, 'columns')),
  }
}

function namesIn(list: unknown): readonly string[] | null {
  return Array.isArray(list) ? list.map(String) : null
}

/** Libraries hand on the server's position: in characters, from 1, of what was sent. */
function positionIn(
  text: string,
  { cause }: DatabaseError,
): { readonly line: number | null; readonly column: number | null } {
  const position = Number(property(cause, 'position')) - PREPARE.length
  if (!(position > 0)) return { line: null, column: null }
  const lines = Array.from(text).slice(0, position).join('').split('\n')
  return { line: lines.length, column: lines.at(-1)?.length ?? null }
}
