import type { PublishOptions, StreamDefinition } from '../core/event-producer.ts'
import { isId, makeId } from '../core/id.ts'
import { decodeJson, encodeJson, UnencodableError } from '../core/json.ts'
import { checkKey, checkOptions } from '../core/names.ts'
import { validate } from '../core/schema.ts'
import { byteLength } from '../core/text.ts'
import { InvalidInputError, InvalidOptionError, PayloadTooLargeError } from '../errors.ts'
import type { EventRow } from './publish-statements.ts'
import type { StoredEvent } from './read-statements.ts'
import { sourceOf } from './stream.ts'
import { InvalidEventError } from './stream-errors.ts'

/** An event as readers get it. */
export interface StreamEvent<Data = unknown> {
  /** Its place in the stream: 1, 2, 3 …, without gaps, never changed and never given again. */
  readonly offset: number
  readonly id: string
  readonly key: string | null
  readonly data: Data
  /** When it was published, by the clock of the publisher: not in the order of the offsets. */
  readonly publishedAt: Date
}

export interface EventContext {
  /** For the id; epoch milliseconds. */
  readonly now: number
  /** In bytes of UTF-8. */
  readonly maxPayload: number
}

/**
 * Turns a call of publish into a row, all of it before any I/O. Answers at once where the schema is
 * synchronous, so that events of one tick go together and in order. What is stored is what was
 * given; readers parse it again.
 */
export function prepareEvent(
  stream: StreamDefinition,
  event: { readonly data: unknown } & PublishOptions,
  { now, maxPayload }: EventContext,
): EventRow | Promise<EventRow> {
  const { name, data: schema } = sourceOf(stream)
  const { key, id = makeId(now) } = event
  if (!isId(id)) throw new InvalidOptionError('id', id, ULID)
  const data = encoded(name, event.data, maxPayload)
  const row = {
    stream: name,
    id,
    ...(key === undefined ? {} : { key: checkKey('event key', key) }),
    data,
  }
  const checked = validate(schema, name, event.data)
  return checked instanceof Promise ? checked.then(() => row) : row
}

/** Checks the options of `publish`, and puts the data to them. */
export function eventOf(data: unknown, options: unknown): { data: unknown } & PublishOptions {
  return { ...checkOptions('publish()', options, ['key', 'id']), data }
}

/** The event as the reader's own schema gives it. Throws, or rejects with, `InvalidEventError`. */
export function readEvent(
  stream: StreamDefinition,
  stored: StoredEvent,
): StreamEvent | Promise<StreamEvent> {
  const { name, data: schema } = sourceOf(stream)
  const { event_offset: offset, id, key, published_at: at } = stored
  const event = (data: unknown): StreamEvent => ({
    offset,
    id,
    key,
    data,
    publishedAt: new Date(at),
  })
  try {
    const parsed = validate(schema, name, decodeJson(stored.data))
    if (!(parsed instanceof Promise)) return event(parsed)
    return parsed.then(event, (error: unknown) => {
      throw new InvalidEventError(name, offset, error)
    })
  } catch (error) {
    throw new InvalidEventError(name, offset, error)
  }
}

const ULID =
  'an id is a ULID in canonical text, 26 characters in upper case. Leave it out to have one made.'

function encoded(stream: string, data: unknown, maxBytes: number): string {
  const text = jsonOf(stream, data)
  // One UTF-16 unit is at most three bytes: short texts need no counting.
  const bytes = text.length * 3 <= maxBytes ? text.length : byteLength(text)
  if (bytes > maxBytes) {
    throw new PayloadTooLargeError(`the data of an event of "${stream}"`, bytes, maxBytes)
  }
  return text
}

function jsonOf(stream: string, data: unknown): string {
  try {
    return encodeJson(data)
  } catch (error) {
    if (!(error instanceof UnencodableError)) throw error
    const issue = { message: error.reason, path: error.segments }
    throw new InvalidInputError(stream, [issue], { cause: error })
  }
}
