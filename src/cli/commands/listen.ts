import type { Command } from 'commander'
import { shutdownSignal } from '../../index.ts'
import type { ChannelMessage, Mill } from '../../index.ts'
import { DONE } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { printable } from '../output.ts'
import type { Output } from '../output.ts'
import { runWithMill } from '../run-command.ts'
import { countOption } from '../values.ts'

export function addListenCommand(program: Command): void {
  program
    .command('listen')
    .description('print what is said on a channel, a line each, until it is interrupted')
    .argument('<channel>')
    .option('--count <number>', 'end after so many messages')
    .action((channel: string, given: { readonly count?: string }, command: Command) => {
      const count = given.count === undefined ? Infinity : countOption('--count', given.count, 1)
      return runWithMill(command, (mill, { output }) => listen(mill, output, { channel, count }))
    })
}

interface Asked {
  readonly channel: string
  readonly count: number
}

async function listen(mill: Mill, output: Output, { channel, count }: Asked): Promise<ExitCode> {
  const signal = shutdownSignal()
  await using listener = mill.listen(channel, { signal })
  // An interruption while the database is away ends the wait for it: there is nothing to tell.
  await listener.ready().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  output.remark(`listening on ${channel}; Ctrl-C ends it`)
  let messages = 0
  for await (const each of listener) {
    print(each, output)
    if (each.type === 'message') messages += 1
    if (messages >= count) break
  }
  return DONE
}

function print(message: ChannelMessage, output: Output): void {
  if (output.isJson) output.record(message)
  else if (message.type === 'message') output.text(printable(message.payload))
  else output.remark('messages may be missing here')
}
