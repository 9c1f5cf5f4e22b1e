import type { Command } from 'commander'
import type { JobFilter, JobState } from '../index.ts'
import { InvalidOptionError } from '../errors.ts'
import { instantOption } from './values.ts'

/** The options that say which jobs, the same for every command that takes some. */
export interface FilterGiven {
  readonly kind?: readonly string[]
  readonly queue?: readonly string[]
  readonly state?: readonly string[]
  readonly createdAfter?: string
  readonly createdBefore?: string
  readonly finishedAfter?: string
  readonly finishedBefore?: string
  readonly dedupKey?: string
  readonly schedule?: string
  readonly text?: string
}

export function addFilterOptions(command: Command): Command {
  return command
    .option('-k, --kind <name...>', 'only of these kinds')
    .option('-q, --queue <name...>', 'only of these queues')
    .option('--state <state...>', `only in these states: ${STATES.join(', ')}`)
    .option('--created-after <instant>', 'only what was asked for after it')
    .option('--created-before <instant>', 'only what was asked for before it')
    .option('--finished-after <instant>', 'only what ended after it')
    .option('--finished-before <instant>', 'only what ended before it')
    .option('--dedup-key <key>', 'only what was asked for with this key')
    .option('--schedule <name>', 'only what this schedule fired')
    .option('--text <text>', 'only jobs whose input contains it')
}

export function filterOf(given: FilterGiven): JobFilter {
  return {
    kind: given.kind,
    queue: given.queue,
    state: given.state?.map(stateOf),
    createdAfter: instantOf('--created-after', given.createdAfter),
    createdBefore: instantOf('--created-before', given.createdBefore),
    finishedAfter: instantOf('--finished-after', given.finishedAfter),
    finishedBefore: instantOf('--finished-before', given.finishedBefore),
    dedupKey: given.dedupKey,
    schedule: given.schedule,
    text: given.text,
  }
}

const STATES: readonly JobState[] = ['pending', 'running', 'completed', 'dead', 'cancelled']

function instantOf(option: string, text: string | undefined): Date | undefined {
  return text === undefined ? undefined : instantOption(option, text)
}

function stateOf(text: string): JobState {
  const state = STATES.find((each) => each === text)
  if (state !== undefined) return state
  throw new InvalidOptionError('--state', text, `give ${STATES.join(', ')}`)
}
