import type { Command } from 'commander'
import type { LockRecord, Mill } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { table } from '../output.ts'
import type { Output } from '../output.ts'
import { runReading, runWithMill } from '../run-command.ts'
import { countOption } from '../values.ts'

export function addLocksCommands(program: Command): void {
  const group = program.command('locks').description('look at locks, and break one by hand')
  group
    .command('list')
    .description('list the locks that are held, and how many wait for each')
    .option('--after <name>', 'names after this one')
    .option('--limit <number>', 'at most so many, up to 1000', '1000')
    .action((given: ListGiven, command: Command) => {
      const limit = countOption('--limit', given.limit, 1)
      return runReading(command, async (mill, { output }) => {
        const locks = await mill.locks.list({ after: given.after, limit })
        return list(locks, output)
      })
    })
  group
    .command('release')
    .description('take a lock from whoever holds it; exits 0 only when somebody did')
    .argument('<name>')
    .action((name: string, _options: object, command: Command) =>
      runWithMill(command, (mill, { output }) => release(mill, output, name)),
    )
}

interface ListGiven {
  readonly after?: string
  readonly limit: string
}

function list(locks: readonly LockRecord[], output: Output): ExitCode {
  if (output.isJson) for (const each of locks) output.record(each)
  else output.text(locks.length === 0 ? 'no locks' : lockTable(locks))
  return DONE
}

function lockTable(locks: readonly LockRecord[]): string {
  return table(
    ['lock', 'owner', 'token', 'since', 'until', 'waiting'],
    locks.map((each) => [
      each.name,
      each.owner,
      each.token,
      each.acquiredAt,
      each.expiresAt,
      each.waiting,
    ]),
  )
}

async function release(mill: Mill, output: Output, name: string): Promise<ExitCode> {
  const released = await mill.locks.release(name)
  output.document({ name, released }, () => `${name} ${released ? 'released' : 'was not held'}`)
  return released ? DONE : NO
}
