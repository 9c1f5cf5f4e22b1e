import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Option } from 'commander'
import type { Command } from 'commander'
import { InvalidOptionError, NotMigratedError } from '../errors.ts'

/** What every command knows: which database, which namespace, and for whom to print. */
export interface Config {
  /** As given; undefined when neither the option nor the environment says. */
  readonly database: string | undefined
  readonly schema: string | undefined
  readonly prefix: string | undefined
  readonly isJson: boolean
}

/** Options of the whole program; they may stand before or after the command. */
export function addGlobalOptions(program: Command): void {
  program
    .addOption(
      new Option('-d, --database <url>', 'a PostgreSQL URL, or ./directory of an embedded one').env(
        'DATABASE_URL',
      ),
    )
    .addOption(
      new Option('-s, --schema <name>', 'where the tables are (default: millrace)').env(
        'MILLRACE_SCHEMA',
      ),
    )
    .addOption(
      new Option('-p, --prefix <text>', 'what their names begin with').env('MILLRACE_PREFIX'),
    )
    .option('--json', 'print JSON: one document, or one line for each record')
}

/** An empty text, as `DATABASE_URL=` leaves it, is none. */
export function configOf(command: Command): Config {
  const { database, schema, prefix, json } = command.optsWithGlobals<{
    database?: string
    schema?: string
    prefix?: string
    json?: boolean
  }>()
  return {
    database: database?.trim() || undefined,
    schema: schema || undefined,
    prefix: prefix || undefined,
    isJson: json === true,
  }
}

/** The database of a command that needs one: nothing is opened by guessing. */
export function demandDatabase({ database }: Config): string {
  if (database !== undefined) return database
  throw new InvalidOptionError(
    '--database',
    database,
    'no database is named. Pass --database postgres://user@host/name, or set DATABASE_URL; an embedded one is a directory: --database ./millrace-data',
  )
}

/** As `demandDatabase`, for commands that only look: to open an embedded one would make it. */
export function demandExisting(config: Config): string {
  const database = demandDatabase(config)
  const directory = directoryOf(database)
  if (directory === undefined || existsSync(directory)) return database
  const what = `there is no embedded database at "${database}"`
  const command = `npx millrace migrate up --database '${database}'`
  throw new NotMigratedError(config.schema ?? 'millrace', [{ what, command }])
}

function directoryOf(database: string): string | undefined {
  if (database.startsWith('file:///')) return fileURLToPath(database)
  if (database.startsWith('file:')) return database.slice('file:'.length)
  return /^(\.{1,2})?\//.test(database) ? database : undefined
}
