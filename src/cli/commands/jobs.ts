import type { Command } from 'commander'
import type {
  JobFilter,
  JobRecord,
  JobState,
  JournalEntry,
  ListOptions,
  Mill,
} from '../../index.ts'
import { InvalidOptionError } from '../../errors.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { jobFacts, jobTable, journalTable } from '../job-text.ts'
import type { Output } from '../output.ts'
import { runReading } from '../run-command.ts'
import { countOption, instantOption } from '../values.ts'

export function addJobsCommands(program: Command): void {
  const group = program.command('jobs').description('look at jobs')
  group
    .command('list')
    .description('list jobs, the newest first')
    .option('-k, --kind <name...>', 'only of these kinds')
    .option('-q, --queue <name...>', 'only of these queues')
    .option('--state <state...>', `only in these states: ${STATES.join(', ')}`)
    .option('--created-after <instant>', 'only what was asked for after it')
    .option('--created-before <instant>', 'only what was asked for before it')
    .option('--finished-after <instant>', 'only what ended after it')
    .option('--finished-before <instant>', 'only what ended before it')
    .option('--text <text>', 'only jobs whose input contains it')
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
}

interface ListGiven {
  readonly kind?: readonly string[]
  readonly queue?: readonly string[]
  readonly state?: readonly string[]
  readonly createdAfter?: string
  readonly createdBefore?: string
  readonly finishedAfter?: string
  readonly finishedBefore?: string
  readonly text?: string
  readonly oldest?: boolean
  readonly limit: string
  readonly cursor?: string
  readonly all?: boolean
}

const STATES: readonly JobState[] = ['pending', 'running', 'completed', 'dead', 'cancelled']
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

function filterOf(given: ListGiven): JobFilter {
  return {
    kind: given.kind,
    queue: given.queue,
    state: given.state?.map(stateOf),
    createdAfter: instantOf('--created-after', given.createdAfter),
    createdBefore: instantOf('--created-before', given.createdBefore),
    finishedAfter: instantOf('--finished-after', given.finishedAfter),
    finishedBefore: instantOf('--finished-before', given.finishedBefore),
    text: given.text,
  }
}

function listOptionsOf({ oldest, limit, cursor, all }: ListGiven): ListOptions {
  return {
    order: oldest === true ? 'oldest' : 'newest',
    limit: all === true ? undefined : countOption('--limit', limit, 1),
    cursor,
  }
}

function instantOf(option: string, text: string | undefined): Date | undefined {
  return text === undefined ? undefined : instantOption(option, text)
}

function stateOf(text: string): JobState {
  const state = STATES.find((each) => each === text)
  if (state !== undefined) return state
  throw new InvalidOptionError('--state', text, `give ${STATES.join(', ')}`)
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
