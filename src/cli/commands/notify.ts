import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { DONE } from '../exit-code.ts'
import { runWithMill } from '../run-command.ts'

export function addNotifyCommand(program: Command): void {
  program
    .command('notify')
    .description('say something to whoever listens on a channel now')
    .argument('<channel>')
    .argument('[payload]', 'text, at most 7999 bytes; - reads it from standard input', '')
    .action(async (...[channel, given, , command]: Words) => {
      const payload = given === '-' ? await readAll(process.stdin) : given
      await runWithMill(command, async (mill, { output }) => {
        await mill.notify(channel, payload)
        output.document({ channel, payload }, () => `said on ${channel}`)
        return DONE
      })
    })
}

type Words = readonly [channel: string, payload: string, given: object, command: Command]
