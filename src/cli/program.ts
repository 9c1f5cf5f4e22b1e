import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addBenchCommand } from './commands/bench.ts'
import { addCleanupCommand } from './commands/cleanup.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addEnqueueCommand } from './commands/enqueue.ts'
import { addJobsCommands } from './commands/jobs.ts'
import { addListenCommand } from './commands/listen.ts'
import { addLocksCommands } from './commands/locks.ts'
import { addMigrateCommands } from './commands/migrate.ts'
import { addNotifyCommand } from './commands/notify.ts'
import { addOutboxesCommands } from './commands/outboxes.ts'
import { addQueuesCommands } from './commands/queues.ts'
import { addSchedulesCommands } from './commands/schedules.ts'
import { addStreamsCommands } from './commands/streams.ts'
import { addStatsCommand } from './commands/stats.ts'
import { addVerifyCommand } from './commands/verify.ts'
import { addWorkCommand } from './commands/work.ts'
import { addGlobalOptions } from './config.ts'
import { exitCodeOf } from './exit-code.ts'
import { printError, printJsonError } from './output.ts'

/** Runs one command line and sets the process's exit code; never throws. */
export async function runProgram(words: readonly string[]): Promise<void> {
  const isJson = words.includes('--json')
  try {
    await program(isJson).parseAsync(words)
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    if (!(error instanceof CommanderError)) printError(error, isJson)
    else if (isJson && error.exitCode !== 0) printJsonError('USAGE', usageText(error))
  }
}

function program(isJson: boolean): Command {
  const made = new Command('millrace')
    .description('Durable jobs inside the PostgreSQL you already have.')
    .version(version(), '-V, --version')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({ writeErr: (text) => void (isJson || process.stderr.write(text)) })
    .showHelpAfterError('(add --help for what it takes)')
    .exitOverride()
  addGlobalOptions(made)
  addDemoCommand(made)
  addMigrateCommands(made)
  addVerifyCommand(made)
  addBenchCommand(made)
  addEnqueueCommand(made)
  addWorkCommand(made)
  addJobsCommands(made)
  addCleanupCommand(made)
  addQueuesCommands(made)
  addSchedulesCommands(made)
  addLocksCommands(made)
  addNotifyCommand(made)
  addListenCommand(made)
  addStreamsCommands(made)
  addOutboxesCommands(made)
  addStatsCommand(made)
  return made
}

// For people commander has printed it already, or the help where a command is missing.
function usageText({ code, message }: CommanderError): string {
  return code === 'commander.help'
    ? 'a command is missing; see --help'
    : message.replace(/^error: /, '')
}

function version(): string {
  // From src/cli and from dist/cli the package's folder is two up.
  const path = new URL('../../package.json', import.meta.url)
  const manifest: { readonly version: string } = JSON.parse(readFileSync(path, 'utf8'))
  return manifest.version
}
