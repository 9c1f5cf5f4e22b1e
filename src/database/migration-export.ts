import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MigrationError } from '../errors.ts'
import { historySql, releasedMigrations } from './migration-files.ts'
import type { Migration } from './migration-files.ts'
import { quoted } from './namespace.ts'
import type { Namespace } from './namespace.ts'

/**
 * Writes the migrations as plain SQL for another migration tool: one file each, the first with the
 * schema and the table of the history, each with its row in it, so that the start check is content
 * afterwards. The same release and namespace always give the same text (tools keep checksums too).
 * A file that is there already is left alone if it is the same and refused if it is not.
 *
 * @returns the paths, in order; the directory is made where it is missing.
 */
export async function exportMigrations(
  directory: string,
  namespace: Namespace,
): Promise<readonly string[]> {
  const migrations = await releasedMigrations()
  const history = await historySql()
  const files = migrations.map((migration, index) => {
    const parts = index === 0 ? [firstSql(namespace), namespace.apply(history)] : []
    const sql = [...parts, namespace.apply(migration.sql), recordSql(migration, namespace)]
    return { name: migration.name, text: [HEADER, ...sql].map((part) => part.trim()).join('\n\n') }
  })
  for (const { name, text } of files) await refuseOther(join(directory, name), `${text}\n`)
  await mkdir(directory, { recursive: true })
  for (const { name, text } of files) await writeFile(join(directory, name), `${text}\n`)
  return files.map(({ name }) => join(directory, name))
}

const HEADER =
  '-- Written by `millrace migrate export`. Run it once, in one transaction, in the order of the names.'

// As in migrateUp: the right to create a schema is asked for only where there is none. A block
// takes its body as a literal, because a name may hold any dollar quote.
function firstSql({ schema }: Namespace): string {
  const body = [
    'begin',
    `  if not exists (select from pg_catalog.pg_namespace where nspname = ${literal(schema)}) then`,
    `    create schema ${quoted(schema)};`,
    '  end if;',
    'end',
  ]
  return `do ${literal(body.join('\n'))};`
}

// The tool says when it runs, so this file asks the server. No release: the row must be the same
// text whichever release exported it.
function recordSql(
  { id, name, checksum, compatibleFrom }: Migration,
  namespace: Namespace,
): string {
  const values = [id, literal(name), literal(checksum), compatibleFrom, 'current_timestamp']
  return namespace.apply(
    `insert into millrace.migrations (id, name, checksum, compatible_from, applied_at)\nvalues (${values.join(', ')});`,
  )
}

/** Any text as a literal, whatever `standard_conforming_strings` says. */
function literal(text: string): string {
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}

async function refuseOther(path: string, text: string): Promise<void> {
  const there = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return text
    throw error
  })
  if (there === text) return
  throw new MigrationError(
    path,
    'another file of that name is there. Export to an empty directory.',
  )
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
