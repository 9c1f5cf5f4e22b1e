import type { Command } from 'commander'
import type { HaltedKey, Mill } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { table } from '../output.ts'
import type { Output } from '../output.ts'
import { runReading, runWithMill } from '../run-command.ts'

/** Messages themselves are jobs: `millrace jobs list --kind <outbox>`. */
export function addOutboxesCommands(program: Command): void {
  const group = program
    .command('outboxes')
    .description('look at keys that a dead message halts, and let one go on')
  group
    .command('halted')
    .description(
      'list the keys that a dead message halts; "millrace jobs retry <id>" sends it again',
    )
    .argument('[outbox]')
    .action((outbox: string | undefined, _options: object, command: Command) =>
      runReading(command, async (mill, { output }) =>
        list(await mill.outboxes.halted(outbox), output),
      ),
    )
  group
    .command('skip')
    .description('let a halted key go on without its dead message; exits 0 only when it was halted')
    .argument('<outbox>')
    .argument('<key>')
    .action((...[outbox, key, , command]: Words) =>
      runWithMill(command, (mill, { output }) => skip(mill, output, { outbox, key })),
    )
}

type Words = [outbox: string, key: string, options: object, command: Command]

function list(keys: readonly HaltedKey[], output: Output): ExitCode {
  if (output.isJson) for (const each of keys) output.record(each)
  else output.text(keys.length === 0 ? 'no halted keys' : keyTable(keys))
  return DONE
}

function keyTable(keys: readonly HaltedKey[]): string {
  return table(
    ['outbox', 'key', 'dead message', 'since', 'waiting'],
    keys.map((each) => [each.outbox, each.key, each.id, each.deadSince, each.waiting]),
  )
}

async function skip(
  mill: Mill,
  output: Output,
  { outbox, key }: { readonly outbox: string; readonly key: string },
): Promise<ExitCode> {
  const skipped = await mill.outboxes.skip(outbox, key)
  const id = skipped?.id ?? null
  output.document({ outbox, key, skipped: id }, () =>
    id === null ? `key ${key} is not halted` : `key ${key} goes on without ${id}`,
  )
  return id === null ? NO : DONE
}
