import type { Command } from 'commander'
import { Option } from 'commander'
import { duration } from '../../index.ts'
import type { CleanupFilter } from '../../index.ts'
import { InvalidOptionError } from '../../errors.ts'
import { printChanged, progressOn } from '../change-jobs.ts'
import { DONE } from '../exit-code.ts'
import { runWithMill } from '../run-command.ts'
import { instantOption } from '../values.ts'

export function addCleanupCommand(program: Command): void {
  program
    .command('cleanup')
    .description('remove records of ended jobs, with their journal, whatever their keep says')
    .addOption(
      new Option('--older-than <duration>', 'those that ended longer ago: 30d').conflicts(
        'finishedBefore',
      ),
    )
    .option('--finished-before <instant>', 'those that ended before it')
    .option('-k, --kind <name>', 'only of this kind')
    .addOption(new Option('--state <state>', 'only in this state').choices(ENDS))
    .option('--dry-run', 'count them, remove nothing')
    .action((given: CleanupGiven, command: Command) => {
      const filter = filterOf(given)
      const dryRun = given.dryRun === true
      return runWithMill(command, async (mill, { output }) => {
        const onProgress = progressOn(output)
        const changed = await mill.jobs.cleanup(filter, { dryRun, onProgress })
        printChanged(output, changed, dryRun ? null : 'removed')
        return DONE
      })
    })
}

const ENDS = ['completed', 'dead', 'cancelled'] as const

interface CleanupGiven {
  readonly olderThan?: string
  readonly finishedBefore?: string
  readonly kind?: string
  readonly state?: (typeof ENDS)[number]
  readonly dryRun?: boolean
}

function filterOf({ olderThan, finishedBefore, kind, state }: CleanupGiven): CleanupFilter {
  if (olderThan !== undefined) return { finishedBefore: duration(olderThan), kind, state }
  if (finishedBefore !== undefined) {
    return { finishedBefore: instantOption('--finished-before', finishedBefore), kind, state }
  }
  throw new InvalidOptionError('--older-than', olderThan, 'say which records: --older-than 30d')
}
