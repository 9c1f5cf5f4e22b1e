import type { Command } from 'commander'
import { duration } from '../../index.ts'
import type { Mill, QueueDefaults, QueueRecord } from '../../index.ts'
import { DONE } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { table } from '../output.ts'
import type { Output } from '../output.ts'
import { runReading, runWithMill } from '../run-command.ts'
import { countOption, priorityOption } from '../values.ts'

export function addQueuesCommands(program: Command): void {
  const group = program.command('queues').description('look at queues, and decide about them')
  group
    .command('list')
    .description('list the queues that wait, that workers claim from, or that were decided about')
    .action((_options: object, command: Command) => runReading(command, list))
  group
    .command('pause')
    .description('claim nothing more from it; what runs goes on')
    .argument('<queue>')
    .action((queue: string, _options: object, command: Command) =>
      runWithMill(command, async (mill, { output }) => {
        await mill.queues.pause(queue)
        return await told(mill, output, queue)
      }),
    )
  group
    .command('resume')
    .description('claim from it again')
    .argument('<queue>')
    .action((queue: string, _options: object, command: Command) =>
      runWithMill(command, async (mill, { output }) => {
        await mill.queues.resume(queue)
        return await told(mill, output, queue)
      }),
    )
  group
    .command('set')
    .description('options for its jobs where neither the call nor the kind says any; none removes')
    .argument('<queue>')
    .option('--priority <0-9>', 'or high, normal, low; 0 comes first')
    .option('--failures <number>', 'dead at this failure')
    .option('--lease <duration>', 'how long a claim holds without a renewal: 30s, 5m')
    .option('--timeout <duration>', 'how long one run may take')
    .option('--expires <duration>', 'never started once it has passed')
    .action(async (queue: string, given: SetGiven, command: Command) => {
      const defaults = defaultsOf(given)
      await runWithMill(command, async (mill, { output }) => {
        await mill.queues.set(queue, defaults)
        output.document({ queue, defaults }, () => `${queue} ${defaultsText(defaults)}`)
        return DONE
      })
    })
}

interface SetGiven {
  readonly priority?: string
  readonly failures?: string
  readonly lease?: string
  readonly timeout?: string
  readonly expires?: string
}

async function list(mill: Mill, { output }: { readonly output: Output }): Promise<ExitCode> {
  const queues = await mill.queues.list()
  if (output.isJson) for (const each of queues) output.record(each)
  else output.text(queues.length === 0 ? 'no queues' : queueTable(queues))
  return DONE
}

function queueTable(queues: readonly QueueRecord[]): string {
  const rows = queues.map(({ queue, paused, pausedSince }) => [
    queue,
    paused ? 'paused' : 'open',
    pausedSince,
  ])
  return table(['queue', 'state', 'paused since'], rows)
}

async function told(mill: Mill, output: Output, queue: string): Promise<ExitCode> {
  const queues = await mill.queues.list()
  const found = queues.find((each) => each.queue === queue)
  const record = found ?? { queue, paused: false, pausedSince: null }
  output.document(record, () => `${queue} ${record.paused ? 'paused' : 'open'}`)
  return DONE
}

function defaultsOf(given: SetGiven): QueueDefaults {
  const { priority, failures, lease, timeout, expires } = given
  return {
    ...(priority === undefined ? {} : { priority: priorityOption('--priority', priority) }),
    ...(failures === undefined
      ? {}
      : { retry: { failures: countOption('--failures', failures, 1) } }),
    ...(lease === undefined ? {} : { lease: duration(lease) }),
    ...(timeout === undefined ? {} : { timeout: duration(timeout) }),
    ...(expires === undefined ? {} : { expires: duration(expires) }),
  }
}

function defaultsText(defaults: QueueDefaults): string {
  return Object.keys(defaults).length === 0 ? 'no defaults' : JSON.stringify(defaults)
}
