import type { Command } from 'commander'
import { duration } from '../../index.ts'
import type { Reschedule } from '../../index.ts'
import { addChangeOptions, runChange } from '../change-jobs.ts'
import type { ChangeGiven } from '../change-jobs.ts'
import { instantOption, priorityOption } from '../values.ts'

export function addRescheduleCommand(group: Command): void {
  addChangeOptions(group.command('reschedule'))
    .description('change when pending jobs are due, or their priority')
    .option('--at <instant>', 'due then: 2030-01-31T12:00:00Z; what is past means now')
    .option('--delay <duration>', 'due so long from now: 30s, 5m; 0s is now')
    .option('--priority <0-9>', 'or high, normal, low; 0 comes first')
    .action((ids: readonly string[], given: RescheduleGiven, command: Command) => {
      const to = placeOf(given)
      return runChange(
        command,
        { ids, given },
        {
          done: 'rescheduled',
          apply: (mill, which, bulk) => mill.jobs.reschedule(which, to, { ...bulk, by: given.by }),
        },
      )
    })
}

interface RescheduleGiven extends ChangeGiven {
  readonly at?: string
  readonly delay?: string
  readonly priority?: string
}

function placeOf({ at, delay, priority }: RescheduleGiven): Reschedule {
  return {
    at: at === undefined ? undefined : instantOption('--at', at),
    delay: delay === undefined ? undefined : duration(delay),
    priority: priority === undefined ? undefined : priorityOption('--priority', priority),
  }
}
