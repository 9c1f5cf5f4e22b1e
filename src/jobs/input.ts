import { decodeJson, encodeJson, UnencodableError } from '../core/json.ts'
import { validate } from '../core/schema.ts'
import { byteLength } from '../core/text.ts'
import { InvalidInputError, PayloadTooLargeError } from '../errors.ts'
import type { Definition } from './definition.ts'

/**
 * The input of a job on its way in and out. What is stored is what was given; the handler gets it
 * parsed again by the schema of its own release. "No input" (undefined) is stored as JSON null.
 */

/** The text to store. Throws `InvalidInputError` naming the path, or `PayloadTooLargeError`. */
export function encodeInput(definition: Definition, input: unknown, maxBytes: number): string {
  const text = encoded(definition, input)
  // One UTF-16 unit is at most three bytes: short payloads need no counting.
  const bytes = text.length * 3 <= maxBytes ? text.length : byteLength(text)
  if (bytes > maxBytes) {
    throw new PayloadTooLargeError(`the input of "${definition.name}"`, bytes, maxBytes)
  }
  return text
}

/**
 * What the schema makes of an input; a promise of it only where the schema is asynchronous.
 * Throws, or rejects with, `InvalidInputError`.
 */
export function parseInput({ name, input: schema }: Definition, input: unknown): unknown {
  if (schema !== null) return validate(schema, name, input)
  if (input === undefined) return undefined
  const message = 'this kind takes no input. Pass none, or give it one in defineJob()'
  throw new InvalidInputError(name, [{ message, path: [] }])
}

/**
 * What a handler gets for a stored payload, as `parseInput` answers. JSON null is read as "no
 * input" where the kind allows that, and as null where only null passes. Throws `SyntaxError` too.
 */
export function readInput(definition: Definition, payload: string): unknown {
  const stored = decodeJson(payload)
  if (stored !== null) return parseInput(definition, stored)
  if (definition.input === null) return undefined
  return firstOf(
    () => parseInput(definition, undefined),
    () => parseInput(definition, null),
  )
}

/** The carry to store. Throws `InvalidInputError` naming the path. */
export function encodeCarry(definition: Definition, carry: unknown): string {
  return encoded(definition, carry)
}

function encoded(definition: Definition, input: unknown): string {
  try {
    return encodeJson(input)
  } catch (error) {
    if (!(error instanceof UnencodableError)) throw error
    const issue = { message: error.reason, path: error.segments }
    throw new InvalidInputError(definition.name, [issue], { cause: error })
  }
}

/** The first attempt's value, or else the second's; awaits only where an attempt must be awaited. */
function firstOf(first: () => unknown, second: () => unknown): unknown {
  let value: unknown
  try {
    value = first()
  } catch {
    return second()
  }
  return value instanceof Promise ? value.catch(second) : value
}
