import { createHash } from 'node:crypto'
import { InvalidNameError } from '../errors.ts'

/**
 * Where one Millrace lives in a database: a schema, and a prefix before every object's name, so
 * that several can share one database, or even one schema, and never see or hear each other.
 */
export interface Namespace {
  readonly schema: string
  readonly prefix: string
  /** The one LISTEN channel of this namespace. */
  readonly channel: string
  /** Puts the namespace into SQL written for the default one: `millrace.ready`, `{{ready_claim}}`, `{{schema}}`, `{{channel}}`. */
  apply(sql: string): string
  /** Rendered statements by their text. */
  readonly rendered: Map<string, string>
}

/** Makes a namespace; names of any kind are safe, but each object's whole name must fit 63 bytes. */
export function namespace(schema = 'millrace', prefix = ''): Namespace {
  check('schema', schema, 63)
  if (prefix !== '') check('prefix', prefix, 63 - LONGEST_OBJECT)
  const channel = channelOf(schema, prefix)
  return {
    schema,
    prefix,
    channel,
    apply: (sql) =>
      sql.replaceAll(PLACE, (_match, object?: string, bare?: string) => {
        if (object !== undefined) return `${embedded(schema)}.${embedded(prefix + object)}`
        if (bare === 'schema') return embedded(schema)
        if (bare === 'channel') return channel
        return embedded(prefix + bare)
      }),
    rendered: new Map(),
  }
}

/** `name` as an identifier, whatever it holds. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

// SQL names objects inside function bodies, comments and literals too, which a `$body$`, a line end
// or a quote in the name would close. Such characters are written by their numbers, so that the
// identifier holds nothing that ends anything.
function embedded(name: string): string {
  if (!CLOSING.test(name)) return quoted(name)
  const escaped = name.replaceAll(CLOSINGS, (character) => {
    return `\\${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return `U&"${escaped}"`
}

const CLOSING = /[$'\\*/\p{Cc}]/u
const CLOSINGS = /[$'"\\*/\p{Cc}]/gu

// Objects of the default schema in statements, `millrace.ready`, and names in a migration that
// cannot be schema-qualified (an index or constraint being created), `{{ready_claim}}`. One pass:
// a name that itself looks like a place must not be filled again.
const PLACE = /\bmillrace\.([a-z_]+)|\{\{([a-z_]+)\}\}/g
// The longest name that a prefix stands before; held by a test over the migrations.
export const LONGEST_OBJECT = 28

function check(what: 'schema' | 'prefix', name: string, limit: number): void {
  if (name.trim() === '')
    throw new InvalidNameError(what, name, 'it is empty. Leave it out for the default.')
  if (name.includes('\u0000'))
    throw new InvalidNameError(what, name, 'it holds U+0000. Take another name.')
  if (!name.isWellFormed())
    throw new InvalidNameError(what, name, 'it holds half of a surrogate pair. Take another name.')
  if (what === 'schema' && name.startsWith('pg_')) {
    throw new InvalidNameError(
      what,
      name,
      'PostgreSQL keeps names that begin with pg_ for itself. Take another name.',
    )
  }
  const bytes = Buffer.byteLength(name)
  if (bytes > limit) {
    throw new InvalidNameError(
      what,
      name,
      `it is ${bytes} bytes in UTF-8, at most ${limit} fit. Take a shorter name.`,
    )
  }
}

// Hashed: a channel name holds 63 bytes, a schema and a prefix together may not fit. NUL parts them: neither can hold it.
function channelOf(schema: string, prefix: string): string {
  return `millrace_${createHash('sha256').update(`${schema}\0${prefix}`).digest('hex').slice(0, 32)}`
}
