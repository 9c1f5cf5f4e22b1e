import { checkOptions } from '../core/names.ts'
import { NotMigratedError } from '../errors.ts'
import { inspectDatabase } from './check.ts'
import { engineFor } from './connect.ts'
import type { Database } from './connect.ts'
import type { Session } from './database.ts'
import { describeStatement, isDescribable } from './describe.ts'
import type { Description, RefusedStatement } from './describe.ts'
import { textProperty } from './drivers/property.ts'
import { namespace } from './namespace.ts'
import type { Namespace } from './namespace.ts'
import { definedStatements, render } from './statement.ts'

/**
 * Asks the server about every statement of the package, before one of them fails in production:
 * what it says of their parameters and columns is held against what the code expects
 * (`expected-statements.ts`, written by describing them on what the migrations make). Nothing is
 * run and nothing changes. What no statement shows, an index above all, the start check finds.
 */
export interface StatementsOptions {
  /** Default: `millrace`. */
  schema?: string | undefined
  /** Stands before the name of every table. Default: none. */
  prefix?: string | undefined
}

/** A statement as it is sent. */
export interface StatementText {
  readonly name: string
  /** With `$1 …` for the parameters. */
  readonly text: string
  /** What the parameters are called, in order. */
  readonly parameters: readonly string[]
}

/** Where the database is not what the code expects. */
export interface Disagreement {
  /** The statement that shows it; null where the start check found it. */
  readonly statement: string | null
  /** Where in the statement's text (`statements()`), from 1; null where the server names no place. */
  readonly line: number | null
  readonly column: number | null
  readonly what: string
  /** What puts it right, where that is known. */
  readonly command: string | null
}

export interface Verification {
  /** How many statements were described. */
  readonly described: number
  /** All of them, not the first; none when the database is as the code expects. */
  readonly disagreements: readonly Disagreement[]
}

/**
 * Every statement that Millrace sends, by name, as it is written for a namespace: for reviews, for
 * `pg_stat_statements`, and for a test of your own beside `verify`. Throws `InvalidOptionError`,
 * `InvalidNameError`.
 *
 * @example
 * const claim = statements({ schema: 'work' }).find(({ name }) => name === 'claim_jobs')
 */
export function statements(options: StatementsOptions = {}): readonly StatementText[] {
  const place = placeOf('statements()', options)
  return definedStatements().map((each) => ({
    name: each.name,
    text: render(each, place),
    parameters: each.parameters,
  }))
}

/**
 * Has the server describe every statement, and lists all that does not fit; changes nothing. Throws
 * `NotMigratedError` where there are no tables at all, `DatabaseError` when the database cannot be
 * reached.
 *
 * @example
 * test('the database fits this release of millrace', async () => {
 *   const { disagreements } = await verify({ env: 'DATABASE_URL' })
 *   expect(disagreements).toEqual([])
 * })
 */
export async function verify(
  database: Database,
  options: StatementsOptions = {},
): Promise<Verification> {
  const place = placeOf('verify()', options)
  await using engine = await engineFor(database)
  const asking = { purpose: 'verify', timeoutMs: ANSWER_WITHIN, prepare: false }
  await using session = await engine.connect(asking)
  return await verifyOn(session, place)
}

const ANSWER_WITHIN = 30_000

async function verifyOn(session: Session, place: Namespace): Promise<Verification> {
  const { problems } = await inspectDatabase(session, place)
  const missing = problems.filter(({ code }) => code === 'missing')
  if (missing.length > 0) throw new NotMigratedError(place.schema, missing)
  const { EXPECTED_STATEMENTS } = await import('./expected-statements.ts')
  const describable = definedStatements().filter(isDescribable)
  const disagreements: Disagreement[] = problems.map(({ what, command }) => ({
    ...NOWHERE,
    what,
    command,
  }))
  for (const each of describable) {
    const described = await describeStatement(session, each, place)
    const expected = EXPECTED_STATEMENTS[each.name] ?? ''
    disagreements.push(...compared(each.name, described, expected))
  }
  return { described: describable.length, disagreements }
}

function compared(name: string, described: Description, expected: string): readonly Disagreement[] {
  if ('error' in described) return [refused(name, described)]
  const [parameters = '', columns = ''] = expected.split('→').map((part) => part.trim())
  const { columns: found } = described
  return [
    ...typeFaults('parameter', described.parameters, parameters),
    ...(found === null ? [] : typeFaults('column', found, columns)),
  ].map((what) => ({ ...NOWHERE, statement: name, what }))
}

function typeFaults(what: string, found: readonly string[], text: string): readonly string[] {
  const expected = text === '' ? [] : text.split(', ')
  const places = found.length > expected.length ? found : expected
  return [...places.keys()].flatMap((index) => {
    const is = found[index] ?? 'not there'
    const was = expected[index] ?? 'none'
    return is === was ? [] : [`${what} ${index + 1} is ${is}, the code expects ${was}`]
  })
}

/** The server's own words: they name the column that is not there. */
function refused(statement: string, { error, line, column }: RefusedStatement): Disagreement {
  const words = textProperty(error.cause, 'message') ?? error.message
  const what = `${words} (SQLSTATE ${error.sqlstate})`
  return { statement, line, column, what, command: null }
}

function placeOf(where: string, options: StatementsOptions): Namespace {
  checkOptions(where, options, ['schema', 'prefix'])
  return namespace(options.schema, options.prefix)
}

const NOWHERE = { statement: null, line: null, column: null, command: null }
