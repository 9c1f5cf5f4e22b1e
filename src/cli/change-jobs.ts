import type { Command } from 'commander'
import type { Bulk, Changed, Ids, JobFilter, Mill } from '../index.ts'
import { InvalidOptionError } from '../errors.ts'
import { DONE, NO } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import { addFilterOptions, filterOf } from './job-filter.ts'
import type { FilterGiven } from './job-filter.ts'
import type { Output } from './output.ts'
import { runWithMill } from './run-command.ts'

/** What the commands that change jobs have in common: ids or a filter, a dry run, and how they answer. */
export interface ChangeGiven extends FilterGiven {
  readonly by?: string
  readonly dryRun?: boolean
}

export function addChangeOptions(command: Command): Command {
  return addFilterOptions(command.argument('[ids...]', 'these jobs; or say which by options'))
    .option('--by <name>', 'who asks, kept in the record')
    .option('--dry-run', 'count what would be meant, change nothing')
}

export interface JobChange {
  /** What happened to those it applied to: `cancelled`. */
  readonly done: string
  readonly apply: (mill: Mill, which: Ids | JobFilter, bulk: Bulk) => Promise<Changed>
}

/** Exits 1 where jobs were named and nothing applied to any of them. */
export function runChange(
  command: Command,
  { ids, given }: { readonly ids: readonly string[]; readonly given: ChangeGiven },
  change: JobChange,
): Promise<void> {
  const which = whichOf(ids, given)
  const isDry = given.dryRun === true
  return runWithMill(command, async (mill, { output }) => {
    const bulk = { dryRun: isDry, onProgress: progressOn(output) }
    const changed = await change.apply(mill, which, bulk)
    printChanged(output, changed, isDry ? null : change.done)
    return exitCodeFor(changed, { isDry, areNamed: ids.length > 0 })
  })
}

/** `done` is null for a dry run. */
export function printChanged(output: Output, changed: Changed, done: string | null): void {
  const { matched, applied } = changed
  output.document(changed, () =>
    done === null ? `${matched} would be meant` : `${done} ${applied} of ${matched}`,
  )
}

/** Tells of every chunk, where there are several. */
export function progressOn(output: Output): (done: number) => void {
  let chunks = 0
  return (done) => {
    chunks += 1
    if (chunks > 1) output.remark(`${done} so far`)
  }
}

function exitCodeFor(
  { matched, applied }: Changed,
  { isDry, areNamed }: { readonly isDry: boolean; readonly areNamed: boolean },
): ExitCode {
  return areNamed && (isDry ? matched : applied) === 0 ? NO : DONE
}

function whichOf(ids: readonly string[], given: ChangeGiven): Ids | JobFilter {
  const filter = filterOf(given)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  if (ids.length > 0 && isFiltered) {
    throw new InvalidOptionError('ids', ids, 'there are options that say which, too. Give one.')
  }
  if (ids.length === 0 && !isFiltered) {
    throw new InvalidOptionError(
      'ids',
      ids,
      'say which jobs: by ids, or by --kind, --queue, --state …',
    )
  }
  return isFiltered ? filter : ids
}
