import type { Command } from 'commander'
import { InvalidOptionError } from '../../errors.ts'
import { demandDatabase } from '../config.ts'
import { runCommand } from '../run-command.ts'
import { countOption } from '../values.ts'

export function addBenchCommand(program: Command): void {
  program
    .command('bench')
    .description(
      'measure enqueue, drain and latency on your server, in a schema of its own that is dropped at the end',
    )
    .option('--jobs <number>', 'how many in bulk and in a drain', '20000')
    .option('-c, --concurrency <number>', 'runs at once, beside the default worker', '100')
    .action((given: BenchGiven, command: Command) =>
      runCommand(command, async ({ config, output }) => {
        refuseNames(command)
        const options = {
          database: demandDatabase(config),
          jobs: countOption('--jobs', given.jobs, 1),
          concurrency: countOption('--concurrency', given.concurrency, 1),
        }
        // Loaded only now: no other command needs it.
        const { runBench } = await import('../bench/run-bench.ts')
        return runBench(options, output)
      }),
    )
}

interface BenchGiven {
  readonly jobs: string
  readonly concurrency: string
}

// What the environment says is for the other commands; who names a schema here expects to find it used.
function refuseNames(command: Command): void {
  for (const option of ['schema', 'prefix']) {
    if (command.getOptionValueSourceWithGlobals(option) !== 'cli') continue
    const value: unknown = command.optsWithGlobals()[option]
    throw new InvalidOptionError(
      `--${option}`,
      value,
      'leave it out: a bench makes a schema of its own, and touches no other',
    )
  }
}
