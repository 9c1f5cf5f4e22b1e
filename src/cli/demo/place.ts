import { InvalidOptionError } from '../../errors.ts'
import type { Application } from './application.ts'

/** The two schemas of a demo: Millrace's, and the application's. */
export interface Place {
  readonly schema: string
  readonly prefix: string
  readonly tables: string
}

/** Longer names would be cut by the server, and the demo would meet itself under another name. */
const LONGEST_NAME = 63
const SUFFIX = '_app'

export function placeOf(schema: string, prefix: string): Place {
  const tables = `${schema}${SUFFIX}`
  if (Buffer.byteLength(tables) <= LONGEST_NAME) return { schema, prefix, tables }
  const most = LONGEST_NAME - SUFFIX.length
  throw new InvalidOptionError('--schema', schema, `give a name of at most ${most} bytes`)
}

/** The text of a statement for this place: `{{deliveries}}` becomes the quoted name with its schema. */
export function placed(text: string, { schema, prefix, tables }: Place): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_braces, name: string) =>
    VIEWS.has(name)
      ? `${quoted(schema)}.${quoted(`${prefix}${name}`)}`
      : `${quoted(tables)}.${quoted(name)}`,
  )
}

/**
 * Makes both schemas anew, with a comment that says whose they are. What an earlier demo left under
 * these names is replaced; a schema that no demo made is never touched: that is an error.
 */
export async function claimSchemas(application: Application, place: Place): Promise<void> {
  await removeSchemas(application, place)
  await application.transaction(async (transaction) => {
    for (const name of [place.schema, place.tables]) {
      await transaction.query(`create schema ${quoted(name)}`)
      await transaction.query(`comment on schema ${quoted(name)} is '${MARK}'`)
    }
  })
}

/** Drops what an earlier demo left; answers the names. */
export async function removeSchemas(
  application: Application,
  place: Place,
): Promise<readonly string[]> {
  const found = await application.query<FoundSchema>(FIND_SCHEMAS, [[place.schema, place.tables]])
  const foreign = found.find(({ comment }) => comment !== MARK)
  if (foreign !== undefined) throw new InvalidOptionError('--schema', foreign.name, NOT_OURS)
  await application.transaction(async (transaction) => {
    for (const { name } of found) await transaction.query(`drop schema ${quoted(name)} cascade`)
  })
  return found.map(({ name }) => name)
}

const VIEWS: ReadonlySet<string> = new Set(['all_jobs', 'timeline', 'errors'])
const MARK = 'Made by millrace demo, which replaces it.'
const NOT_OURS =
  'there is such a schema, and no demo made it, so that none may replace it. Choose a name that is free: --schema millrace_demo'

interface FoundSchema {
  readonly name: string
  readonly comment: string | null
}

const FIND_SCHEMAS = `
select nspname::text as name, obj_description(oid, 'pg_namespace') as comment
from pg_namespace
where nspname = any ($1::text[])
order by nspname`

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
