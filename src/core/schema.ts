import { InvalidInputError } from '../errors.ts'

/**
 * Any schema that follows Standard Schema v1 (zod, valibot, arktype and others): the interface is
 * written out here, so that nobody depends on a package for it. `In` is what is given, `Out` what
 * the schema makes of it.
 */
export interface Schema<In = unknown, Out = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Out> | Promise<SchemaResult<Out>>
    readonly types?: { readonly input: In; readonly output: Out } | undefined
  }
}

export type SchemaResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a schema takes. */
export type SchemaIn<S extends Schema> = NonNullable<S['~standard']['types']>['input']

/** What a schema gives. */
export type SchemaOut<S extends Schema> = NonNullable<S['~standard']['types']>['output']

/**
 * A schema that checks nothing at run time and only carries a type.
 *
 * @example
 * const resize = defineJob('resize', { input: typed<{ url: string; width: number }>() })
 */
export function typed<T>(): Schema<T, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'millrace',
      validate: (value) => (isTaken<T>(value) ? { value } : { issues: [] }),
    },
  }
}

/** Whether this is a schema: some libraries make them functions. */
export function isSchema(value: unknown): value is Schema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard: unknown = '~standard' in value ? value['~standard'] : undefined
  if (typeof standard !== 'object' || standard === null) return false
  return 'validate' in standard && typeof standard.validate === 'function'
}

/**
 * What the schema makes of `value`: the value itself, or a promise of it only where the schema is
 * asynchronous, so that most enqueues wait for nothing. Throws, or rejects with, `InvalidInputError`.
 */
export function validate(schema: Schema, kind: string, value: unknown): unknown {
  let result: ReturnType<Schema['~standard']['validate']>
  try {
    result = schema['~standard'].validate(value)
  } catch (error) {
    throw broken(kind, error)
  }
  if (!('then' in result)) return output(kind, result)
  return result.then(
    (settled) => output(kind, settled),
    (error: unknown) => {
      throw broken(kind, error)
    },
  )
}

// The word of the caller is the whole check: that is what `typed` is for.
function isTaken<T>(_value: unknown): _value is T {
  return true
}

function output(kind: string, result: SchemaResult<unknown>): unknown {
  if (result.issues === undefined) return result.value
  const issues = result.issues.map((issue) => ({
    message: issue.message,
    // A plain array, whatever the library's own paths are.
    path: Array.from(issue.path ?? [], (segment) =>
      typeof segment === 'object' ? segment.key : segment,
    ),
  }))
  throw new InvalidInputError(kind, issues)
}

function broken(kind: string, error: unknown): InvalidInputError {
  const why = error instanceof Error ? error.message : 'see the cause'
  const message = `the schema itself failed (${why}). Mend the schema`
  return new InvalidInputError(kind, [{ message, path: [] }], { cause: error })
}
