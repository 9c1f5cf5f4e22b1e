import type { StreamDefinition, StreamSource } from '../core/event-producer.ts'
import type { MustBeJson } from '../core/json.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { isSchema } from '../core/schema.ts'
import type { Schema, SchemaIn, SchemaOut } from '../core/schema.ts'
import { InvalidOptionError } from '../errors.ts'

/** What `defineStream` takes. */
export interface StreamOptions<S extends Schema> {
  /** Any Standard Schema, or `typed<T>()`: of the data of each event. */
  data: S & MustBeJson<SchemaIn<S>, 'data'>
}

/**
 * Defines a stream of events: a frozen value without connection, for publishers and readers to
 * share. Data is checked when it is published, stored as it was given, and parsed by the reader's
 * own schema again.
 *
 * Throws `InvalidNameError` for a name that is blank, longer than 200 bytes or begins with
 * `millrace.`, and `InvalidOptionError` for what is no schema.
 *
 * @example
 * export const orders = defineStream('orders', {
 *   data: z.object({ order: z.number(), status: z.enum(['placed', 'paid', 'shipped']) }),
 * })
 */
export function defineStream<const Name extends string, S extends Schema>(
  name: Name,
  options: StreamOptions<S>,
): StreamDefinition<{ name: Name; input: SchemaIn<S>; data: SchemaOut<S> }> {
  type Types = { name: Name; input: SchemaIn<S>; data: SchemaOut<S> }
  checkName('stream', name)
  const given = checkOptions(`defineStream(${JSON.stringify(name)})`, options, ['data'])
  const stream: StreamDefinition<Types> & Defined = {
    name,
    [source]: Object.freeze({ name, data: schemaOf(given['data']) }),
  }
  // Not listed with the name: it is nobody else's business.
  Object.defineProperty(stream, source, { enumerable: false })
  return Object.freeze(stream)
}

/** What is behind a definition. Throws `InvalidOptionError` for anything that `defineStream` did not make. */
export function sourceOf(stream: StreamDefinition): StreamSource {
  if (isDefined(stream)) return stream[source]
  throw new InvalidOptionError(
    'stream',
    stream,
    'it is not a stream. Pass what defineStream() returned, not a name.',
  )
}

// In the registry of symbols: a process may hold two copies of this package.
const source: unique symbol = Symbol.for('millrace.stream')

interface Defined {
  readonly [source]: StreamSource
}

function isDefined(stream: unknown): stream is Defined {
  return typeof stream === 'object' && stream !== null && source in stream
}

function schemaOf(schema: unknown): Schema {
  if (isSchema(schema)) return schema
  throw new InvalidOptionError(
    'data',
    schema,
    'it is no Standard Schema. Pass one of zod, valibot or arktype, or typed<T>().',
  )
}
