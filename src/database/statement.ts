import { DatabaseError } from '../errors.ts'
import type { Query, Value } from './database.ts'
import type { Namespace } from './namespace.ts'

/**
 * A named SQL statement with the types of its parameters and of its rows. The text is lower case,
 * holds `$names`, and names its tables in the default schema (`millrace.ready`), so that it can be
 * read, and pasted, as it stands; `render` puts in the namespace and numbers the parameters.
 *
 * The name is the prepared statement's name, the span, the metric label and the heading in the docs.
 */
export interface Statement<Params extends Parameters = Parameters, Result = unknown> {
  readonly name: string
  readonly text: string
  /** Names in the order of their numbers. */
  readonly parameters: readonly string[]
  readonly '~types'?: ((params: Params) => Result) | undefined
}

export type Parameters = Readonly<Record<string, Value>>

// For whoever looks at all of them (`verify`): a list kept by hand would miss the newest.
const defined = new Map<string, Statement<never>>()

/** Every statement of the modules that were loaded, by name. */
export function definedStatements(): readonly Statement<never>[] {
  return [...defined.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** Defines a statement. Parameters are found in the text; `::` casts and quoted text are left alone. */
export function statement<Params extends Parameters, Result>(
  name: string,
  text: string,
): Statement<Params, Result> {
  const parameters: string[] = []
  for (const [, parameter] of text.matchAll(PARAMETER)) {
    if (parameter !== undefined && !parameters.includes(parameter)) parameters.push(parameter)
  }
  const made: Statement<Params, Result> = { name, text: text.trim(), parameters }
  defined.set(name, made)
  return made
}

/**
 * The statement's instant where it goes into rows: read from its text once, not for each row (measured:
 * a tenth of a claim, a sixth of a settlement). Not for conditions that an index answers.
 */
export const NOW = '(select $now::text::timestamptz)'

/** The statement's text for one namespace, with `$1 … $n`. Cached: a namespace renders each once. */
export function render(statement: Statement<never>, namespace: Namespace): string {
  const cached = namespace.rendered.get(statement.text)
  if (cached !== undefined) return cached
  const numbered = statement.text.replaceAll(
    PARAMETER,
    (_match, name: string) => `$${statement.parameters.indexOf(name) + 1}`,
  )
  const text = namespace.apply(numbered)
  namespace.rendered.set(statement.text, text)
  return text
}

/** The query to send. A missing parameter throws: `undefined` would silently be NULL. */
export function bind<Params extends Parameters>(
  statement: Statement<Params>,
  params: Params,
  namespace: Namespace,
): Query {
  const values = statement.parameters.map((name): Value => {
    const value = params[name]
    if (value === undefined) {
      throw new DatabaseError(
        `statement ${statement.name} lacks its parameter $${name}. This is a fault in Millrace: report it.`,
        { sqlstate: null, statement: statement.name, retryable: false, outcomeUnknown: false },
      )
    }
    return value
  })
  return { name: statement.name, text: render(statement, namespace), values }
}

const PARAMETER = /(?<![$\w])\$([a-z_]+)\b/g
