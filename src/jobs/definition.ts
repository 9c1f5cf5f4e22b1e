import { decodeJson, encodeJson } from '../core/json.ts'
import type { OptionsRead } from '../core/names.ts'
import { checkOptions } from '../core/names.ts'
import type { Schema } from '../core/schema.ts'
import { isSchema } from '../core/schema.ts'
import { InvalidOptionError } from '../errors.ts'
import type { CarrySource } from './carry.ts'
import type { DedupRule } from './dedup.ts'
import { readDedup } from './dedup.ts'
import type { JobKind } from './kind.ts'
import type { MergeRule } from './merge-rule.ts'
import { readMerge } from './merge-rule.ts'
import type { Settings, StampedOption } from './stamped-options.ts'
import { readOption, STAMPED_OPTIONS } from './stamped-options.ts'

/** What enqueue, claim and settle know of a kind, and its users do not. */
export interface Definition {
  readonly name: string
  /** Null: the kind takes no input. */
  readonly input: Schema | null
  /** Whether what a handler returns is stored. */
  readonly keepsResult: boolean
  /** Null: the kind keeps nothing between runs. */
  readonly carry: CarrySource | null
  /** Null: asks carry no key of their own. */
  readonly dedup: DedupRule | null
  readonly merge: MergeRule
  /** The options that are values. */
  readonly settings: Settings
  /** The options that depend on the input. */
  readonly derived: readonly Derived[]
}

export interface Derived {
  readonly option: StampedOption
  readonly from: (input: unknown) => unknown
}

/** The definition behind a kind. Throws `InvalidOptionError` for anything that `defineJob` did not make. */
export function definitionOf(kind: JobKind): Definition {
  if (isDefined(kind)) return kind[definition]
  throw new InvalidOptionError(
    'kind',
    kind,
    'it is not a kind of job. Pass what defineJob() returned, not a name.',
  )
}

// In the registry of symbols: a process may hold two copies of this package.
export const definition: unique symbol = Symbol.for('millrace.definition')

/** What carries a definition: a kind. */
export interface Defined {
  readonly [definition]: Definition
}

function isDefined(kind: unknown): kind is Defined {
  return typeof kind === 'object' && kind !== null && definition in kind
}

/** Reads and checks everything that `defineJob` was given. */
export function definitionFrom(name: string, options: object): Definition {
  const known = ['input', 'result', 'carry', 'dedup', 'merge', ...STAMPED_OPTIONS]
  const given = checkOptions(`defineJob(${JSON.stringify(name)})`, options, known)
  const settings: Settings = {}
  const derived: Derived[] = []
  for (const option of STAMPED_OPTIONS) {
    const value = given[option]
    if (isDerivation(value)) derived.push({ option, from: value })
    else if (value !== undefined) Object.assign(settings, readOption(option, value))
  }
  return Object.freeze({
    name,
    input: schemaIn('input', given),
    keepsResult: schemaIn('result', given) !== null,
    carry: carryIn(given),
    dedup: given['dedup'] === undefined ? null : readDedup(given['dedup']),
    merge: readMerge(given['merge']),
    settings,
    derived,
  })
}

function carryIn({ carry }: OptionsRead): CarrySource | null {
  if (carry === undefined) return null
  if (isDerivation(carry)) return { from: carry }
  // Kept as a copy: what its author does to the object later is not meant for jobs.
  return { value: decodeJson(encodeCarry(carry)) }
}

function encodeCarry(carry: unknown): string {
  try {
    return encodeJson(carry)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'JSON cannot hold it'
    throw new InvalidOptionError('carry', carry, {
      text: `${why}. Give what survives JSON.`,
      cause,
    })
  }
}

function isDerivation(value: unknown): value is Derived['from'] {
  return typeof value === 'function'
}

function schemaIn(option: 'input' | 'result', given: OptionsRead): Schema | null {
  const schema = given[option]
  if (schema === undefined) return null
  if (isSchema(schema)) return schema
  throw new InvalidOptionError(
    option,
    schema,
    'it is no Standard Schema. Pass one of zod, valibot or arktype, or typed<T>().',
  )
}
