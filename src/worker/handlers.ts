import { definitionOf } from '../jobs/definition.ts'
import type { JobKind, NameOf, ParsedOf, ResultOf } from '../jobs/kind.ts'
import { InvalidOptionError, UnknownKindError } from '../errors.ts'
import type { OutboxDefinition } from '../core/message-producer.ts'
import { checkOptions } from '../core/names.ts'
import { delivering } from './deliver.ts'
import type { Deliver } from './deliver.ts'
import type { Paused, Run } from './run.ts'

/** What a handler may return: the result, or what `run.pause` gave, or a promise of one of them. */
export type HandlerReturn<Result> = Result | Paused | Promise<Result | Paused>

/** Does the work of one run. Returning completes the job, throwing fails it. */
export type Handler<K extends JobKind> = (
  input: ParsedOf<K>,
  run: Run<K>,
) => HandlerReturn<ResultOf<K>>

export interface HandlerOptions {
  /** At most this many runs of the kind at once in one worker. Default: as many as the worker has slots. */
  concurrency?: number | undefined
}

/**
 * Handlers as a value: made once, used by workers and by `millrace work <module>`.
 *
 * @example
 * export const mailHandlers = defineHandlers().handle(welcome, async ({ userId }, run) => {
 *   await mailer.send(userId, { signal: run.signal })
 * })
 */
export interface Handlers<Names extends string = never> {
  /** Adds the handler of a kind. The same kind twice is an `UnknownKindError`, in a chain also a compile error. */
  handle<K extends JobKind>(
    kind: K,
    handler: Once<K, Names>,
    options?: HandlerOptions,
  ): Handlers<Names | NameOf<K>>
  /** Adds what delivers the messages of an outbox. The same outbox twice is an `UnknownKindError`. */
  deliver<O extends OutboxDefinition>(
    outbox: O,
    deliver: Deliver<O>,
    options?: HandlerOptions,
  ): Handlers<Names | O['name']>
}

export type Once<K extends JobKind, Names extends string> =
  string extends NameOf<K>
    ? Handler<K>
    : NameOf<K> extends Names
      ? `the kind "${NameOf<K>}" already has a handler here`
      : Handler<K>

/** One kind with its handler, as the worker sees it. */
export interface HandledKind {
  readonly kind: JobKind
  readonly handler: Handler<JobKind>
  readonly concurrency: number | null
}

/** Handlers of nothing yet; `handle` adds to a copy, so that a value once made never changes. */
export function defineHandlers(): Handlers {
  return handlersOf(new Map())
}

const contents = new WeakMap<object, ReadonlyMap<string, HandledKind>>()

function handlersOf<Names extends string>(
  handled: ReadonlyMap<string, HandledKind>,
): Handlers<Names> {
  const handlers: Handlers<Names> = {
    handle: (kind, handler, options) =>
      handlersOf(withHandler(handled, handledKind(kind, handler, options))),
    deliver: (outbox, deliver, options) =>
      handlersOf(withHandler(handled, deliveredKind(outbox, deliver, options))),
  }
  contents.set(handlers, handled)
  return handlers
}

/** What a `Handlers` value holds; anything else is an error. */
export function handledKindsOf(handlers: unknown): ReadonlyMap<string, HandledKind> {
  const handled = isObject(handlers) ? contents.get(handlers) : undefined
  if (handled === undefined) {
    throw new InvalidOptionError('handlers', handlers, 'pass what defineHandlers() gave')
  }
  return handled
}

/** True for values that `defineHandlers()` made. */
export function isHandlers(value: unknown): value is Handlers<string> {
  return isObject(value) && contents.has(value)
}

export function handledKind(
  kind: JobKind,
  handler: unknown,
  options: HandlerOptions = {},
): HandledKind {
  definitionOf(kind)
  if (!isHandler(handler)) {
    throw new InvalidOptionError('handler', handler, `pass a function for kind "${kind.name}"`)
  }
  checkOptions('handle()', options, ['concurrency'])
  const { concurrency } = options
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new InvalidOptionError('concurrency', concurrency, 'pass a whole number from 1 up')
  }
  return { kind, handler, concurrency: concurrency ?? null }
}

/** The same for an outbox, which is a kind of job. */
export function deliveredKind(
  outbox: OutboxDefinition,
  deliver: unknown,
  options?: HandlerOptions,
): HandledKind {
  const { kind, handler } = delivering(outbox, deliver)
  return handledKind(kind, handler, options)
}

export function withHandler(
  handled: ReadonlyMap<string, HandledKind>,
  added: HandledKind,
): ReadonlyMap<string, HandledKind> {
  if (handled.has(added.kind.name)) {
    throw new UnknownKindError(added.kind.name, 'has a handler here already. Keep one of the two.')
  }
  return new Map(handled).set(added.kind.name, added)
}

function isHandler(value: unknown): value is Handler<JobKind> {
  return typeof value === 'function'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
