import { decodeJson, encodeJson } from '../core/json.ts'
import type { Definition } from './definition.ts'

/** The carry of a first run, as a kind declares it: a value, or a function of the parsed input. */
export type CarrySource =
  | { readonly value: unknown }
  | { readonly from: (input: unknown) => unknown }

/**
 * The carry that a job of this kind begins with; undefined where the kind declares none. A fresh
 * copy each time: the definition's own value is one object for the whole process, and a handler that
 * pushes to it would change every later job.
 */
export function initialCarry({ carry }: Definition, input: unknown): unknown {
  if (carry === null) return undefined
  const value = 'from' in carry ? carry.from(input) : carry.value
  return decodeJson(encodeJson(value))
}
