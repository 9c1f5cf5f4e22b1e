import type { Command } from 'commander'
import type { JobFilter, JobRecord, JournalEntry, ListOptions, Mill } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { addFilterOptions, filterOf } from '../job-filter.ts'
import type { FilterGiven } from '../job-filter.ts'
import { jobFacts, jobTable, journalTable } from '../job-text.ts'
import type { Output } from '../output.ts'
import { runReading } from '../run-command.ts'
import { countOption } from '../values.ts'
import { addCancelCommand } from './cancel.ts'
import { addExplainCommand } from './explain.ts'
import { addRescheduleCommand } from './reschedule.ts'
import { addRetryCommand } from './retry.ts'
import { addWaitCommand } from './wait.ts'

export function addJobsCommands(program: Command): void {
  const group = program.command('jobs').description('look at jobs, and decide about them')
  addFilterOptions(group.command('list'))
    .description('list jobs, the newest first')
    .option('--oldest', 'the oldest first')
    .option('-n, --limit <number>', 'how many at most', '20')
    .option('--cursor <cursor>', 'go on where the last list ended')
    .option('--all', 'everything, not one page')
    .action((given: ListGiven, command: Command) => {
      const asked = askedOf(given)
      return runReading(command, (mill, { output }) => list(mill, output, asked))
    })
  group
    .command('show')
    .description('show one job; exits 1 when there is none of that id')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      runReading(command, (mill, { output }) => show(mill, output, id)),
    )
  group
    .command('journal')
    .description('show every run and decision of one job; exits 1 when there is none of that id')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      runReading(command, (mill, { output }) => journal(mill, output, id)),
    )
  addExplainCommand(group)
  addWaitCommand(group)
  addCancelCommand(group)
  addRetryCommand(group)
  addRescheduleCommand(group)
}

interface ListGiven extends FilterGiven {
  readonly oldest?: boolean
  readonly limit: string
  readonly cursor?: string
  readonly all?: boolean
}

const ROWS_A_TABLE = 500

interface Asked {
  readonly filter: JobFilter
  readonly options: ListOptions
  readonly isAll: boolean
}

// Before anything is opened: a bad value is told as one, whatever the database.
function askedOf(given: ListGiven): Asked {
  return {
    filter: filterOf(given),
    options: listOptionsOf(given),
    isAll: given.all === true,
  }
}

async function list(
  mill: Mill,
  output: Output,
  { filter, options, isAll }: Asked,
): Promise<ExitCode> {
  const listing = mill.jobs.list(filter, options)
  if (isAll) {
    await printAll(listing, output)
    return DONE
  }
  const { items, next } = await listing.page()
  printJobs(items, output)
  if (next !== null) output.remark(`more: --cursor ${next}`)
  return DONE
}

async function printAll(jobs: AsyncIterable<JobRecord>, output: Output): Promise<void> {
  let rows: JobRecord[] = []
  for await (const job of jobs) {
    if (output.isJson) output.record(job)
    else rows.push(job)
    if (rows.length < ROWS_A_TABLE) continue
    printJobs(rows, output)
    rows = []
  }
  if (rows.length > 0) printJobs(rows, output)
}

function printJobs(jobs: readonly JobRecord[], output: Output): void {
  if (output.isJson) for (const job of jobs) output.record(job)
  else output.text(jobs.length === 0 ? 'no jobs' : jobTable(jobs))
}

function listOptionsOf({ oldest, limit, cursor, all }: ListGiven): ListOptions {
  return {
    order: oldest === true ? 'oldest' : 'newest',
    limit: all === true ? undefined : countOption('--limit', limit, 1),
    cursor,
  }
}

async function show(mill: Mill, output: Output, id: string): Promise<ExitCode> {
  const job = await mill.jobs.get(id)
  if (job === null) return noJob(output, id)
  output.document(job, () => jobFacts(job))
  return DONE
}

async function journal(mill: Mill, output: Output, id: string): Promise<ExitCode> {
  if ((await mill.jobs.get(id)) === null) return noJob(output, id)
  const entries: JournalEntry[] = []
  for await (const entry of mill.jobs.journal(id, { order: 'oldest' })) {
    if (output.isJson) output.record(entry)
    else entries.push(entry)
  }
  if (!output.isJson)
    output.text(entries.length === 0 ? 'nothing happened yet' : journalTable(entries))
  return DONE
}

function noJob(output: Output, id: string): ExitCode {
  output.document(null, () => `there is no job ${id}; it may have been removed by retention`)
  return NO
}
