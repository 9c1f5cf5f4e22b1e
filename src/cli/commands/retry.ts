import type { Command } from 'commander'
import { addChangeOptions, runChange } from '../change-jobs.ts'
import type { ChangeGiven } from '../change-jobs.ts'

export function addRetryCommand(group: Command): void {
  addChangeOptions(group.command('retry'))
    .description('put dead and cancelled jobs back into line, due now')
    .action((ids: readonly string[], given: ChangeGiven, command: Command) =>
      runChange(
        command,
        { ids, given },
        {
          done: 'back in line:',
          apply: (mill, which, bulk) => mill.jobs.retry(which, { ...bulk, by: given.by }),
        },
      ),
    )
}
