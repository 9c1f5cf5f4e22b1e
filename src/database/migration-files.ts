import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { MigrationError } from '../errors.ts'

/**
 * Migrations are numbered `.sql` files beside this one, forward only and never edited once
 * released. Each begins with the line `-- compatible-from: N`: a release works with the database
 * after this migration if the newest migration that it knows is N or later. That line is stored in
 * the history, so that a release can tell whether it may work with migrations that came after it.
 */
export interface Migration {
  /** The number its file begins with; 1 is the first. */
  readonly id: number
  /** The file: `0001-jobs.sql`. */
  readonly name: string
  /** For the default namespace; `Namespace.apply` puts in another. */
  readonly sql: string
  /** SHA-256 of the text, in hex. */
  readonly checksum: string
  /** The migration that a release must know to work with the database after this one. */
  readonly compatibleFrom: number
}

let loaded: Promise<readonly Migration[]> | undefined

/** The migrations of this release, in order. Read once. */
export function releasedMigrations(): Promise<readonly Migration[]> {
  loaded ??= readMigrations()
  return loaded
}

/** The SQL of the table that holds the history, for the default namespace. */
export function historySql(): Promise<string> {
  return readText('history.sql')
}

/** Makes a migration of a file's name and text. */
export function migration(name: string, text: string): Migration {
  const sql = text.replaceAll('\r\n', '\n')
  const id = FILE_NAME.exec(name)?.[1]
  if (id === undefined)
    throw new MigrationError(name, 'its name is not like 0001-jobs.sql. Rename it.')
  const compatibleFrom = Number(HEADER.exec(sql)?.[1] ?? 0)
  if (compatibleFrom < 1 || compatibleFrom > Number(id)) {
    throw new MigrationError(
      name,
      `it does not begin with "-- compatible-from: N", N from 1 to ${Number(id)}. Say the newest migration that a release must know to work with the database afterwards.`,
    )
  }
  const checksum = createHash('sha256').update(sql).digest('hex')
  return { id: Number(id), name, sql, checksum, compatibleFrom }
}

const FOLDER = new URL('./migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/
const HEADER = /^-- compatible-from: (\d+)\n/

async function readMigrations(): Promise<readonly Migration[]> {
  const files = await readdir(FOLDER)
  const names = files.filter((name) => FILE_NAME.test(name)).toSorted()
  return Promise.all(names.map(async (name) => migration(name, await readText(name))))
}

async function readText(name: string): Promise<string> {
  const text = await readFile(new URL(name, FOLDER), 'utf8')
  return text.replaceAll('\r\n', '\n')
}
