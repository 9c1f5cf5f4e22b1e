import type { Backoff } from '../core/backoff.ts'
import type { Duration } from '../core/duration.ts'
import type { MustBeJson } from '../core/json.ts'
import { checkName } from '../core/names.ts'
import type { Schema, SchemaIn, SchemaOut } from '../core/schema.ts'
import { definition, definitionFrom } from './definition.ts'
import type { Defined } from './definition.ts'
import type { JobRecord } from './job.ts'
import type { Dedup, Merge } from './merge.ts'

/** The types of a kind, carried by one covariant phantom, so that every kind is assignable to `JobKind`. */
export interface KindTypes {
  name: string
  input: unknown
  parsed: unknown
  carry: unknown
  result: unknown
}

/** A kind of job: its name and the types of what goes in and comes out. Made by `defineJob`. */
export interface JobKind<T extends KindTypes = KindTypes> {
  readonly name: T['name']
  readonly '~types'?: T | undefined
  /** Narrows a record of any kind to this one. */
  is(job: JobRecord): job is JobRecord<JobKind<T>>
}

type TypesOf<K extends JobKind> = NonNullable<K['~types']>

export type NameOf<K extends JobKind> = K['name']

/** What `enqueue` takes. */
export type InputOf<K extends JobKind> = TypesOf<K>['input']

/** What the handler gets: the schema's output. */
export type ParsedOf<K extends JobKind> = TypesOf<K>['parsed']

/** What is kept between runs. */
export type CarryOf<K extends JobKind> = TypesOf<K>['carry']

/** What the handler returns. */
export type ResultOf<K extends JobKind> = TypesOf<K>['result']

/** 0 is taken first; `high` is 2, `normal` 5, `low` 8. */
export type Priority = 'high' | 'normal' | 'low' | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

/** `failures: 10`: dead at the 10th failure; 1 is a single run. */
export interface Retry {
  failures?: number | undefined
  backoff?: Backoff | undefined
}

/** How long a record stays after the job's end. 0: until the next maintenance. */
export type Keep = Duration | 'forever'

export interface KeepOptions {
  completed?: Keep | undefined
  cancelled?: Keep | undefined
  dead?: Keep | undefined
}

/** Stamped on the job at enqueue: a later change of the kind affects later jobs only. */
export interface StampedOptions {
  /** Where workers claim it. Default `'default'`. */
  queue?: string | undefined
  /** Default `'normal'`. */
  priority?: Priority | undefined
  /** Default dead at the 10th failure, exponential backoff from 1 s to 1 h. */
  retry?: Retry | undefined
  /** How long a claim holds without a renewal: what a crash costs. At most 24 days. Default `'60s'`. */
  lease?: Duration | undefined
  /** How long one run may take; longer is a failure. At most 24 days. Default no limit. */
  timeout?: Duration | undefined
  /** A job not begun by then is dead: a duration from enqueue, or an instant. Default never. */
  expires?: Duration | Date | undefined
  /** Default 7 days, 7 days and 30 days. */
  keep?: KeepOptions | undefined
}

type OrFrom<In, T> = T | ((input: In) => T | undefined)
type Derivable<In> = {
  [Key in keyof StampedOptions]?: OrFrom<In, NonNullable<StampedOptions[Key]>> | undefined
}

/**
 * What `defineJob` takes. The stamped options are values, or functions of the **parsed** input that
 * run in the producer at enqueue; one that answers undefined leaves the option to the default.
 */
export interface JobOptions<S extends Schema, Carry, R extends Schema> extends Derivable<
  SchemaOut<S>
> {
  /** Any Standard Schema, or `typed<T>()`. Without it the kind takes no input. */
  input?: (S & MustBeJson<SchemaIn<S>, 'input'>) | undefined
  /** Types what the handler returns; only then it is stored. Encoded, not validated: the effect has happened. */
  result?: (R & MustBeJson<SchemaIn<R>, 'result'>) | undefined
  /** The carry of a first run: a value or a function of the input. Every run gets a copy. */
  carry?: ((Carry | ((input: SchemaOut<S>) => Carry)) & MustBeJson<Carry, 'carry'>) | undefined
  /** Which jobs of the kind are the same. Default: none are. */
  dedup?: Dedup<SchemaOut<S>> | undefined
  /** What becomes of a pending job of the same key. Default `replace`. */
  merge?: Merge<SchemaIn<S>, NoInfer<Carry>> | undefined
}

type Nothing = Schema<undefined, undefined>
type Undeclared = Schema

/**
 * Defines a kind of job: a frozen value without connection or handler, for producers and workers to
 * share. All options have defaults (`StampedOptions`), and all are checked here.
 *
 * Throws `InvalidNameError` for a name that is blank, longer than 200 bytes or begins with
 * `millrace.`, and `InvalidOptionError` for an option that does not exist or is out of range.
 *
 * @example
 * export const welcome = defineJob('welcome-email', {
 *   input: z.object({ userId: z.string() }),
 *   queue: 'mail',
 *   retry: { failures: 5 },
 *   timeout: '2m',
 * })
 */
export function defineJob<
  const Name extends string,
  S extends Schema = Nothing,
  Carry = undefined,
  R extends Schema = Undeclared,
>(
  name: Name,
  options?: JobOptions<S, Carry, R>,
): JobKind<{
  name: Name
  input: SchemaIn<S>
  parsed: SchemaOut<S>
  carry: Carry
  result: SchemaIn<R>
}> {
  type Types = {
    name: Name
    input: SchemaIn<S>
    parsed: SchemaOut<S>
    carry: Carry
    result: SchemaIn<R>
  }
  checkName('kind', name)
  const kind: JobKind<Types> & Defined = {
    name,
    is: (job: JobRecord): job is JobRecord<JobKind<Types>> => job.kind === name,
    [definition]: definitionFrom(name, options ?? {}),
  }
  // Not listed with the name: it is nobody else's business.
  Object.defineProperty(kind, definition, { enumerable: false })
  return Object.freeze(kind)
}
