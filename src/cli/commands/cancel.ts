import type { Command } from 'commander'
import { addChangeOptions, runChange } from '../change-jobs.ts'
import type { ChangeGiven } from '../change-jobs.ts'

export function addCancelCommand(group: Command): void {
  addChangeOptions(group.command('cancel'))
    .description('end pending jobs, and ask running ones to end')
    .option('--why <text>', 'why, kept in the record')
    .option('--force', 'end running jobs now, whatever their runs do')
    .action((ids: readonly string[], given: CancelGiven, command: Command) =>
      runChange(
        command,
        { ids, given },
        {
          done: 'cancelled, or asked to end:',
          apply: (mill, which, bulk) => {
            const { by, why, force } = given
            return mill.jobs.cancel(which, { ...bulk, by, why, force })
          },
        },
      ),
    )
}

interface CancelGiven extends ChangeGiven {
  readonly why?: string
  readonly force?: boolean
}
