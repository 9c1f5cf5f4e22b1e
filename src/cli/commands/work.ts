import type { Command } from 'commander'
import { duration, shutdownSignal } from '../../index.ts'
import type { Mill, WorkerOptions } from '../../index.ts'
import { DONE } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { runWithMill } from '../run-command.ts'
import { countOption } from '../values.ts'
import { importWork } from '../work-module.ts'

export function addWorkCommand(program: Command): void {
  program
    .command('work')
    .description('run a worker until SIGTERM or Ctrl-C, which drains it')
    .argument('<module>', 'a JavaScript module that exports handlers')
    .option('-q, --queue <name...>', 'claim from these; mail=5 runs at most 5 of mail at once')
    .option('-c, --concurrency <number>', 'how many runs at once (default: 10)')
    .option('--grace <duration>', 'how long runs may take to end (default: 30s)')
    .option('--poll <duration>', 'how often to look for work that nothing announced')
    .action((path: string, given: WorkGiven, command: Command) => {
      const asked = { path, options: workerOptions(given) }
      return runWithMill(command, (mill, { output }) => work(mill, output, asked))
    })
}

interface WorkGiven {
  readonly queue?: readonly string[]
  readonly concurrency?: string
  readonly grace?: string
  readonly poll?: string
}

interface Asked {
  readonly path: string
  readonly options: WorkerOptions
}

async function work(mill: Mill, output: Output, { path, options }: Asked): Promise<ExitCode> {
  // Before the module loads: a signal that comes meanwhile must not be lost.
  const signal = shutdownSignal()
  const found = await importWork(path, mill)
  const worker = mill.worker({ ...found.options, ...options }).use(...found.handlers)
  output.remark(`worker ${worker.id} works; Ctrl-C lets it finish, a second one ends it at once`)
  await worker.run({ signal })
  output.remark(`worker ${worker.id} ended`)
  return DONE
}

// Only what was given: an option of the module counts where the command line says nothing.
function workerOptions(given: WorkGiven): WorkerOptions {
  return {
    ...(given.queue && { queues: queuesOf(given.queue) }),
    ...(given.concurrency && { concurrency: countOption('--concurrency', given.concurrency, 1) }),
    ...(given.grace && { grace: duration(given.grace) }),
    ...(given.poll && { poll: duration(given.poll) }),
  }
}

function queuesOf(given: readonly string[]): readonly string[] | Readonly<Record<string, number>> {
  const capped = given.map((text) => /^(.*)=([^=]*)$/.exec(text))
  if (capped.every((match) => match === null)) return given
  return Object.fromEntries(
    given.map((text, index) => {
      const [, queue = text, cap] = capped[index] ?? []
      return [queue, cap === undefined ? Number.POSITIVE_INFINITY : countOption('--queue', cap, 1)]
    }),
  )
}
