import type { Command } from 'commander'
import { open } from '../index.ts'
import type { Mill } from '../index.ts'
import { configOf, demandDatabase, demandExisting } from './config.ts'
import type { Config } from './config.ts'
import type { ExitCode } from './exit-code.ts'
import { outputFor } from './output.ts'
import type { Output } from './output.ts'

/** What a command works with. */
export interface Invocation {
  readonly config: Config
  readonly output: Output
}

/** Runs a command's work; what it answers is what the shell is told. */
export async function runCommand(
  command: Command,
  work: (invocation: Invocation) => Promise<ExitCode>,
): Promise<void> {
  const config = configOf(command)
  process.exitCode = await work({ config, output: outputFor(config.isJson) })
}

/** As `runCommand`, with a client that is closed afterwards. */
export function runWithMill(
  command: Command,
  work: (mill: Mill, invocation: Invocation) => Promise<ExitCode>,
): Promise<void> {
  return runCommand(command, async (invocation) => {
    const { schema, prefix } = invocation.config
    await using mill = await open(demandDatabase(invocation.config), { schema, prefix })
    return await work(mill, invocation)
  })
}

/** As `runWithMill`, for commands that only look: not even an embedded database makes its tables. */
export function runReading(
  command: Command,
  work: (mill: Mill, invocation: Invocation) => Promise<ExitCode>,
): Promise<void> {
  return runCommand(command, async (invocation) => {
    const { schema, prefix } = invocation.config
    const database = demandExisting(invocation.config)
    await using mill = await open(database, { schema, prefix, migrate: 'check', wake: 'poll' })
    return await work(mill, invocation)
  })
}
