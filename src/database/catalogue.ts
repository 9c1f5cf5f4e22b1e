import type { Queryable, Row } from './database.ts'
import { EXPECTED_CATALOGUE } from './expected-catalogue.ts'
import { liveCatalogue } from './migration-statements.ts'
import type { Namespace } from './namespace.ts'
import { bind } from './statement.ts'

/**
 * Which tables, views, columns, indexes and functions there are, as text that is the same on every
 * server version and in every namespace. What the migrations make is written down in
 * `expected-catalogue.ts`, made by running them (`test/database/expected-catalogue.test.ts` writes
 * it, and fails when it is stale); what the database has is one query over its system catalogue.
 */
export interface CatalogueObject {
  readonly what: CatalogueKind
  /** Without schema and prefix; a column as `table.column`. */
  readonly name: string
  /** As SQL would say it: `text collate "C" not null`, `unique index on ready using btree (…)`. */
  readonly definition: string
}

export type CatalogueKind = 'table' | 'view' | 'column' | 'index' | 'function'

export interface ExpectedObject extends CatalogueObject {
  /** The migration that made it what it is. */
  readonly since: number
}

/** What the database shows of one namespace. */
export interface LiveCatalogue {
  readonly role: string
  readonly hasSchema: boolean
  readonly hasHistory: boolean
  readonly canReadHistory: boolean
  /** What the role may not use: the schema, tables, functions, as people name them. */
  readonly unreadable: readonly string[]
  readonly objects: readonly CatalogueObject[]
}

/** The table of the migrations themselves. */
export const HISTORY = 'migrations'

/** What the migrations of this release make. */
export function expectedCatalogue(): readonly ExpectedObject[] {
  return Object.entries(EXPECTED_CATALOGUE).flatMap(([since, objects]) =>
    Object.entries(objects).flatMap(([key, text]) => parseExpected(Number(since), key, text)),
  )
}

/** One query; never fails for want of a schema or a privilege. */
export async function readCatalogue(
  queryable: Queryable,
  namespace: Namespace,
  names: readonly string[],
): Promise<LiveCatalogue> {
  const { schema, prefix } = namespace
  const params = { schema, prefix, names: JSON.stringify(names) }
  const rows = (await queryable.query(bind(liveCatalogue, params, namespace))).map(liveRow)
  const place = rows.find(({ what }) => what === 'schema')
  const history = rows.find(({ what, name }) => what === 'table' && name === HISTORY)
  return {
    role: place?.name ?? '',
    hasSchema: place !== undefined,
    hasHistory: history !== undefined,
    canReadHistory: place?.readable === true && history?.readable === true,
    unreadable: rows
      .filter(({ readable }) => !readable)
      .map(({ what, name }) =>
        what === 'schema' ? `schema "${schema}"` : `${what} "${prefix}${name}"`,
      ),
    objects: rows.filter(isObject),
  }
}

/** The names that can be looked up: of everything but columns and indexes, which hang on tables. */
export function lookupNames(expected: readonly CatalogueObject[]): readonly string[] {
  const named = expected.filter(({ what }) => what !== 'column' && what !== 'index')
  return [...new Set([HISTORY, ...named.map(({ name }) => name)])]
}

// `'table jobs': 'id text not null; kind text not null'` is a table and the columns that came with it.
function parseExpected(since: number, key: string, text: string): readonly ExpectedObject[] {
  const [word = '', name = ''] = key.split(' ')
  const what = catalogueKind(word)
  if (what !== 'table' && what !== 'view') return [{ what, name, definition: text, since }]
  const columns = text === '' ? [] : text.split('; ')
  return [
    { what, name, definition: '', since },
    ...columns.map((column) => expectedColumn(since, name, column)),
  ]
}

function expectedColumn(since: number, table: string, column: string): ExpectedObject {
  const space = column.indexOf(' ')
  const name = `${table}.${column.slice(0, space)}`
  return { what: 'column', name, definition: column.slice(space + 1), since }
}

interface LiveRow {
  readonly what: CatalogueKind | 'schema'
  readonly name: string
  readonly definition: string
  readonly readable: boolean
}

function isObject(row: LiveRow): row is LiveRow & CatalogueObject {
  return row.what !== 'schema'
}

/** The door where catalogue rows come in. */
function liveRow(row: Row): LiveRow {
  const what = String(row['what'])
  return {
    what: what === 'schema' ? what : catalogueKind(what),
    name: String(row['name']),
    definition: String(row['definition']),
    readable: row['readable'] === true,
  }
}

function catalogueKind(word: string): CatalogueKind {
  switch (word) {
    case 'table':
    case 'view':
    case 'column':
    case 'index':
    case 'function':
      return word
    default:
      throw new TypeError(`the catalogue knows no "${word}"`)
  }
}
