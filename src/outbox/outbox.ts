import type { MustBeJson } from '../core/json.ts'
import type { OutboxDefinition } from '../core/message-producer.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { isSchema } from '../core/schema.ts'
import type { Schema, SchemaIn, SchemaOut } from '../core/schema.ts'
import { InvalidOptionError } from '../errors.ts'
import { defineJob } from '../jobs/kind.ts'
import type { JobKind, StampedOptions } from '../jobs/kind.ts'

/** What `defineOutbox` takes. All but `message` have defaults; those not told here are those of jobs. */
export interface OutboxOptions<S extends Schema> extends Pick<
  StampedOptions,
  'queue' | 'retry' | 'lease' | 'timeout' | 'keep'
> {
  /** Any Standard Schema, or `typed<T>()`: of each message. */
  message: S & MustBeJson<SchemaIn<S>, 'message'>
  /**
   * What a message is about, from the parsed message, in the sender: those of one key are delivered
   * one after another. Undefined: without a key, in no order. Default none have one.
   */
  key?: ((message: SchemaOut<S>) => string | undefined) | undefined
  /**
   * What a dead message does to its key. `'continue'` (default): the next one is delivered, and a
   * redrive brings the dead one back in front of those that wait. `'halt'`: the key stops until the
   * dead message is redriven (`mill.jobs.retry`), passed over (`mill.outboxes.skip`), or its record
   * is removed.
   */
  onDead?: 'continue' | 'halt' | undefined
}

/** What senders and workers know of an outbox, and its users do not. */
export interface OutboxSource {
  /** The kind of its jobs. Its dedup key is the key of the message. */
  readonly kind: JobKind
  readonly halts: boolean
}

const KIND_OPTIONS = ['queue', 'retry', 'lease', 'timeout', 'keep'] as const

/**
 * Defines an outbox: a frozen value without connection or handler, for senders and workers to share.
 * Messages are checked when they are sent, stored as they were given, and parsed again before they
 * are delivered. They are jobs of a kind of the same name, so that `mill.jobs` shows and decides.
 *
 * Throws `InvalidNameError` for a name that is blank, longer than 200 bytes or begins with
 * `millrace.`, and `InvalidOptionError` for an option that does not exist or is out of range.
 *
 * @example
 * export const webhooks = defineOutbox('webhooks', {
 *   message: z.object({ order: z.number(), status: z.string() }),
 *   key: ({ order }) => `order-${order}`,
 *   retry: { failures: 20 },
 * })
 */
export function defineOutbox<const Name extends string, S extends Schema>(
  name: Name,
  options: OutboxOptions<S>,
): OutboxDefinition<{ name: Name; input: SchemaIn<S>; message: SchemaOut<S> }> {
  type Types = { name: Name; input: SchemaIn<S>; message: SchemaOut<S> }
  checkName('outbox', name)
  const outbox: OutboxDefinition<Types> & Defined = { name, [source]: sourceFrom(name, options) }
  // Not listed with the name: it is nobody else's business.
  Object.defineProperty(outbox, source, { enumerable: false })
  return Object.freeze(outbox)
}

/** What is behind a definition. Throws `InvalidOptionError` for anything that `defineOutbox` did not make. */
export function outboxSource(outbox: OutboxDefinition): OutboxSource {
  if (isDefined(outbox)) return outbox[source]
  throw new InvalidOptionError(
    'outbox',
    outbox,
    'it is not an outbox. Pass what defineOutbox() returned, not a name.',
  )
}

/** Whether jobs of this kind are messages. */
export function isOutboxKind(kind: JobKind): boolean {
  return outboxKinds.has(kind)
}

// In the registry of symbols: a process may hold two copies of this package.
const source: unique symbol = Symbol.for('millrace.outbox')
const outboxKinds = new WeakSet<object>()

interface Defined {
  readonly [source]: OutboxSource
}

function isDefined(outbox: unknown): outbox is Defined {
  return typeof outbox === 'object' && outbox !== null && source in outbox
}

function sourceFrom(name: string, options: object): OutboxSource {
  const where = `defineOutbox(${JSON.stringify(name)})`
  const given = checkOptions(where, options, ['message', 'key', 'onDead', ...KIND_OPTIONS])
  const settings = Object.fromEntries(KIND_OPTIONS.map((option) => [option, given[option]]))
  for (const option of KIND_OPTIONS) mustBeValue(option, given[option])
  const kind = defineJob(name, {
    ...settings,
    input: messageIn(given['message']),
    dedup: keyIn(given['key']),
  })
  outboxKinds.add(kind)
  return Object.freeze({ kind, halts: haltsIn(given['onDead']) })
}

function messageIn(schema: unknown): Schema {
  if (isSchema(schema)) return schema
  throw new InvalidOptionError(
    'message',
    schema,
    'it is no Standard Schema. Pass one of zod, valibot or arktype, or typed<T>().',
  )
}

type KeyFrom = (message: unknown) => string | undefined

function keyIn(key: unknown): KeyFrom | undefined {
  if (key === undefined || isKeyFrom(key)) return key
  throw new InvalidOptionError(
    'key',
    key,
    'give a function of the message that answers a text, or undefined for none.',
  )
}

function isKeyFrom(key: unknown): key is KeyFrom {
  return typeof key === 'function'
}

function haltsIn(onDead: unknown): boolean {
  if (onDead === undefined || onDead === 'continue') return false
  if (onDead === 'halt') return true
  throw new InvalidOptionError(
    'onDead',
    onDead,
    "give 'continue' (the key goes on, the default) or 'halt' (the key stops).",
  )
}

/** Of a job these may be functions of its input; an outbox has one answer. */
function mustBeValue(option: string, value: unknown): void {
  if (typeof value !== 'function') return
  throw new InvalidOptionError(option, value, 'an outbox takes a value here, not a function.')
}
