import type { Command } from 'commander'
import { InvalidOptionError } from '../../errors.ts'
import type { Config } from '../config.ts'
import { runCommand } from '../run-command.ts'

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(
      'process 329 GitHub webhooks on an embedded database, or on a server in schemas of its own, and check the sums; exits 1 if they do not add up',
    )
    .option('--remove', 'drop what an earlier demo left on the server, and do nothing else')
    .action((options: { remove?: boolean }, command: Command) =>
      runCommand(command, async ({ config, output }) => {
        const invocation = { config: withNamedDatabase(config, command), output }
        // Loaded only now: other commands need neither a progress bar nor the demo.
        const { removeDemo, runDemo } = await import('../demo/run-demo.ts')
        if (options.remove !== true) return runDemo(invocation)
        demandServer(invocation.config)
        return removeDemo(invocation)
      }),
    )
}

// What DATABASE_URL names is somebody's real database: a demo writes to a server only when it is
// told to in so many words.
function withNamedDatabase(config: Config, command: Command): Config {
  const isNamed = command.getOptionValueSourceWithGlobals('database') === 'cli'
  return isNamed ? config : { ...config, database: undefined }
}

function demandServer({ database }: Config): void {
  if (database !== undefined) return
  throw new InvalidOptionError(
    '--remove',
    true,
    'name the server: --database postgres://user@host/name. What was embedded is a directory: delete that',
  )
}
