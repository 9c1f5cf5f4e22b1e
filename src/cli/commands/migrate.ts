import type { Command } from 'commander'
import { migrations } from '../../index.ts'
import type { Migrations, MigrationStatus } from '../../index.ts'
import { demandDatabase, demandExisting } from '../config.ts'
import type { Config } from '../config.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { table } from '../output.ts'
import type { Output } from '../output.ts'
import { runCommand } from '../run-command.ts'

export function addMigrateCommands(program: Command): void {
  const group = program.command('migrate').description('make and check the tables')
  group
    .command('up')
    .description('apply what is missing; safe to repeat, and to start many times at once')
    .option('--late', 'apply also what was passed over: older than the newest applied')
    .action((options: { late?: boolean }, command: Command) =>
      runMigrations(command, demandDatabase, (tables, output) => up(tables, output, options)),
    )
  group
    .command('status')
    .description('show the version and every problem; creates nothing; exits 1 if there is any')
    .option('--check', 'print nothing but problems')
    .action((options: { check?: boolean }, command: Command) =>
      runMigrations(command, demandExisting, (tables, output) => status(tables, output, options)),
    )
  group
    .command('export')
    .description('write the migrations as SQL files for another tool; needs no database')
    .requiredOption('--to <directory>', 'where to; made where it is missing')
    .action((options: { to: string }, command: Command) =>
      runMigrations(command, anyDatabase, (tables, output) => exportTo(tables, output, options.to)),
    )
  group
    .command('grants')
    .description('let a role that owns nothing work with the tables')
    .requiredOption('--role <name>', 'the role of the application')
    .option('--dry-run', 'print the statements, run nothing; needs no database')
    .action((options: GrantsOptions, command: Command) =>
      runMigrations(
        command,
        options.dryRun === true ? anyDatabase : demandDatabase,
        (tables, output) => grants(tables, output, options),
      ),
    )
}

interface GrantsOptions {
  readonly role: string
  readonly dryRun?: boolean
}

function runMigrations(
  command: Command,
  databaseOf: (config: Config) => string,
  work: (tables: Migrations, output: Output) => Promise<ExitCode>,
): Promise<void> {
  return runCommand(command, async ({ config, output }) => {
    const { schema, prefix } = config
    await using tables = migrations(databaseOf(config), { schema, prefix })
    return await work(tables, output)
  })
}

// Nothing is opened before it is needed, so any database does where none is.
function anyDatabase({ database }: Config): string {
  return database ?? 'memory:'
}

async function up(
  tables: Migrations,
  output: Output,
  options: { readonly late?: boolean },
): Promise<ExitCode> {
  const { applied } = await tables.up({ late: options.late })
  output.document({ applied }, () =>
    applied.length === 0 ? 'nothing to do' : applied.map((name) => `applied ${name}`).join('\n'),
  )
  return DONE
}

async function status(
  tables: Migrations,
  output: Output,
  options: { readonly check?: boolean },
): Promise<ExitCode> {
  const found = await tables.status()
  const isReady = found.problems.length === 0
  const text = (): string =>
    [...(options.check === true ? [] : [overview(found)]), ...problemLines(found)].join('\n')
  if (output.isJson || !isReady || options.check !== true) output.document(found, text)
  return isReady ? DONE : NO
}

function overview({
  schema,
  prefix,
  version,
  needed,
  migrations: states,
  problems,
}: MigrationStatus): string {
  const place = prefix === '' ? `schema "${schema}"` : `schema "${schema}" with prefix "${prefix}"`
  const rows = states.map(({ name, state, appliedAt, release }) => [
    name,
    state,
    appliedAt,
    release,
  ])
  return [
    `${place} is at version ${version}, this release needs ${needed}`,
    '',
    table(['migration', 'state', 'applied at', 'by release'], rows),
    ...(problems.length === 0 ? [] : ['']),
  ].join('\n')
}

function problemLines({ problems }: MigrationStatus): readonly string[] {
  return problems.map(({ what, command }) => `${what}. Run: ${command}`)
}

async function exportTo(tables: Migrations, output: Output, directory: string): Promise<ExitCode> {
  const files = await tables.export(directory)
  output.document({ files }, () => files.join('\n'))
  return DONE
}

async function grants(
  tables: Migrations,
  output: Output,
  { role, dryRun }: GrantsOptions,
): Promise<ExitCode> {
  const statements = await tables.grants(role, { dryRun })
  output.document({ statements }, () => statements.map((statement) => `${statement};`).join('\n'))
  return DONE
}
