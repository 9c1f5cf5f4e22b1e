/**
 * JSON in and out. `JSON.stringify` alone changes values without a word: NaN becomes null, a Map
 * becomes `{}`, a Date comes back as text. Whatever would not come back as it went in is an error
 * that names its path instead; only members that are `undefined` vanish, as everywhere in JSON.
 *
 * Objects that bring a `toJSON` are refused for the same reason: the handler would get what it
 * returned, not the object. Instances of other classes are stored by their own members.
 */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [key: string]: Json }

/** What comes back from the database as it went in. `Date`, `bigint`, `Map`, functions … map to `never`. */
export type JsonSafe<T> = unknown extends T
  ? T
  : T extends Json
    ? T
    : T extends NotJson
      ? never
      : { [Key in keyof T]: JsonSafe<T[Key]> }

/** Intersect with a parameter's type: nothing when T survives JSON, else a readable refusal. */
export type MustBeJson<T, Where extends string> = [T] extends [Json]
  ? unknown
  : [T] extends [JsonSafe<T>]
    ? unknown
    : {
        readonly [
          Problem in `${Where} must survive JSON: use a string (ISO instant, decimal, base64) in place of Date, bigint, Map, Set or bytes`
        ]: never
      }

/** A value that JSON cannot hold. Whoever knows what the value was for wraps it. */
export class UnencodableError extends Error {
  /** From the value's root, such as `items[3].price`; empty for the value itself. */
  readonly path: string
  readonly segments: readonly (string | number)[]
  readonly reason: string

  constructor(segments: readonly (string | number)[], reason: string, options?: ErrorOptions) {
    const path = pathText(segments)
    super(path === '' ? reason : `${path}: ${reason}`, options)
    this.name = 'UnencodableError'
    this.path = path
    this.segments = segments
    this.reason = reason
  }
}

/**
 * The JSON text of `value`, which parses back to the same value. A value that is `undefined` as a
 * whole is stored as `null`: it is what "no input" looks like. Throws `UnencodableError`.
 */
export function encodeJson(value: unknown): string {
  if (value === undefined) return 'null'
  let problem: Problem | undefined
  try {
    problem = problemIn(value, [])
    if (problem === undefined) return JSON.stringify(value)
  } catch (error) {
    // A getter or a proxy that throws, a text longer than strings can be.
    throw new UnencodableError([], 'reading it failed. See the cause', { cause: error })
  }
  throw new UnencodableError(problem.segments.toReversed(), problem.reason)
}

/** The door for JSON that comes in: whoever calls it says what the value should be, and checks it. */
export function decodeJson(text: string): unknown {
  return JSON.parse(text)
}

type NotJson =
  | bigint
  | symbol
  | Date
  | ((...values: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | Uint8Array
  | URL
  | RegExp
  | Error
  | PromiseLike<unknown>

/** Segments from the inside out: each level adds its own on the way back, so that a clean value pays for none. */
interface Problem {
  readonly segments: (string | number)[]
  readonly reason: string
}

// PostgreSQL's own parser gives up near 6 000 levels at its default stack; real payloads stay below 20.
const DEEPEST = 1_000

function problemIn(value: unknown, ancestors: object[]): Problem | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : problem(`${value} would be stored as null`)
    case 'object':
      return value === null ? undefined : problemInside(value, ancestors)
    case 'undefined':
      return problem('undefined in an array would be stored as null. Pass null, or leave it out')
    case 'bigint':
      return problem('JSON has no bigint. Pass it as text')
    default:
      return problem(`JSON has no ${typeof value}. Leave it out`)
  }
}

function problemInside(value: object, ancestors: object[]): Problem | undefined {
  if (ancestors.includes(value)) return problem('it holds itself. Pass a value without cycles')
  if (ancestors.length === DEEPEST) return problem(`it is nested deeper than ${DEEPEST} levels`)
  ancestors.push(value)
  const found = Array.isArray(value)
    ? problemInItems(value, ancestors)
    : problemInMembers(value, ancestors)
  ancestors.pop()
  return found
}

function problemInItems(items: readonly unknown[], ancestors: object[]): Problem | undefined {
  for (let index = 0; index < items.length; index += 1) {
    const found = problemIn(items[index], ancestors)
    if (found !== undefined) return under(index, found)
  }
  return undefined
}

function problemInMembers(value: object, ancestors: object[]): Problem | undefined {
  if (!isKeptWhole(value)) return problem(refusal(value))
  for (const key of Object.keys(value)) {
    const member = value[key]
    const found = member === undefined ? undefined : problemIn(member, ancestors)
    if (found !== undefined) return under(key, found)
  }
  return undefined
}

/** Objects whose own members are all there is to them. */
function isKeptWhole(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  return tagOf(value) === 'Object' && !hasToJson(value)
}

// By tag, not by class: it is the same for objects from another realm (a vm context).
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}

function hasToJson(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function refusal(value: object): string {
  const tag = tagOf(value)
  if (tag === 'Date') return 'a Date would come back as text. Pass date.toISOString()'
  if (tag === 'Map') return 'a Map would be stored empty. Pass Object.fromEntries(map)'
  if (tag === 'Set') return 'a Set would be stored empty. Pass [...set]'
  if (ArrayBuffer.isView(value) || tag.endsWith('ArrayBuffer')) {
    return 'JSON has no bytes. Pass them as base64 text'
  }
  return hasToJson(value)
    ? 'an object with a toJSON() would come back as something else. Pass what toJSON() returns'
    : `the object (${tag}) would not come back as it is. Pass a plain object or text`
}

function problem(reason: string): Problem {
  return { segments: [], reason }
}

function under(segment: string | number, found: Problem): Problem {
  found.segments.push(segment)
  return found
}

function pathText(segments: readonly (string | number)[]): string {
  const parts = segments.map((segment) => {
    if (typeof segment === 'number') return `[${segment}]`
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(segment)
      ? `.${segment}`
      : `[${JSON.stringify(segment)}]`
  })
  return parts.join('').replace(/^\./, '')
}
