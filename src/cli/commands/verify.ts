import type { Command } from 'commander'
import { verify } from '../../index.ts'
import type { Disagreement, Verification } from '../../index.ts'
import { demandExisting } from '../config.ts'
import { DONE, NO } from '../exit-code.ts'
import { runCommand } from '../run-command.ts'

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('have the server describe every statement; exits 1 if anything does not fit')
    .action((_options: object, command: Command) =>
      runCommand(command, async ({ config, output }) => {
        const { schema, prefix } = config
        const found = await verify(demandExisting(config), { schema, prefix })
        output.document(found, () => verificationText(found))
        return found.disagreements.length === 0 ? DONE : NO
      }),
    )
}

function verificationText({ described, disagreements }: Verification): string {
  if (disagreements.length === 0) return `the database fits all ${described} statements`
  return [...disagreements.map(line), `${disagreements.length} disagreements`].join('\n')
}

function line({ statement, line: number, column, what, command }: Disagreement): string {
  const place = number === null ? '' : `:${number}:${column}`
  const cure = command === null ? '' : `\n  ${command}`
  return `${statement === null ? '' : `${statement}${place}: `}${what}${cure}`
}
