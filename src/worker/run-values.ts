import { encodeJson } from '../core/json.ts'
import { definitionOf } from '../jobs/definition.ts'
import { readInput } from '../jobs/input.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { ClaimedRow } from './claim-statements.ts'

/** What goes into a handler and comes out of it: values of the application's, of which nothing is known. */

/** What a handler gets. Throws, or rejects, where it cannot be read. */
export function inputOf(row: ClaimedRow, kind: JobKind): unknown {
  if (row.payload === null) {
    throw new SyntaxError(`the payload of job ${row.job_id} is missing from the table jobs`)
  }
  return readInput(definitionOf(kind), row.payload)
}

/** A declared result as it is stored; undefined where the kind declares none. Throws where JSON cannot hold it (O3). */
export function resultText(
  definition: { readonly keepsResult: boolean },
  value: unknown,
): string | undefined {
  if (!definition.keepsResult) return undefined
  try {
    return encodeJson(value)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`the result cannot be stored: ${why}`, { cause })
  }
}

/** The error of a run that left what the database cannot hold. */
export function unstorable(cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new TypeError(`what this run left could not be stored: ${why}`, { cause })
}

/** As `instanceof`; what throws at the question is none of ours. */
export function isOne(value: unknown, type: abstract new (...values: never[]) => unknown): boolean {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/** As `await` sees it. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}
