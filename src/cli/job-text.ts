import type { JobRecord, JournalEntry } from '../index.ts'
import { facts, table } from './output.ts'
import type { Cell } from './output.ts'

/** Jobs and their history as people read them. */
export function jobTable(jobs: readonly JobRecord[]): string {
  const head = ['id', 'kind', 'queue', 'state', 'run', 'failures', 'when']
  return table(
    head,
    jobs.map((job) => [
      job.id,
      job.kind,
      job.queue,
      stateText(job),
      job.run,
      job.failures,
      when(job),
    ]),
  )
}

export function jobFacts(job: JobRecord): string {
  return facts([
    ['id', job.id],
    ['kind', job.kind],
    ['queue', job.queue],
    ['state', stateText(job)],
    ['priority', job.priority],
    ['runs', job.run],
    ['failures', `${job.failures} of ${job.failureLimit}`],
    ['created', job.createdAt],
    ...stateFacts(job),
    ['dedup key', job.dedupKey],
    ['input', JSON.stringify(job.input)],
  ])
}

export function journalTable(entries: readonly JournalEntry[]): string {
  const head = ['at', 'run', 'outcome', 'took', 'worker', 'what was said']
  return table(
    head,
    entries.map((entry) => [
      entry.at,
      'run' in entry ? entry.run : null,
      entry.outcome,
      'durationMs' in entry ? `${Math.round(entry.durationMs)} ms` : null,
      'worker' in entry ? entry.worker : null,
      saidText(entry),
    ]),
  )
}

type Fact = readonly [name: string, value: Cell]

function stateText(job: JobRecord): string {
  if (job.state === 'pending' && job.waiting !== 'due') return `pending (${job.waiting})`
  return job.state === 'dead' ? `dead (${job.reason})` : job.state
}

function when(job: JobRecord): string {
  switch (job.state) {
    case 'pending':
      return `due ${job.dueAt.toISOString()}`
    case 'running':
      return `since ${job.startedAt.toISOString()}`
    case 'completed':
    case 'dead':
    case 'cancelled':
      return `ended ${job.finishedAt.toISOString()}`
    default:
      return job satisfies never
  }
}

function stateFacts(job: JobRecord): readonly Fact[] {
  switch (job.state) {
    case 'pending':
      return [
        ['due', job.dueAt],
        ['expires', job.expiresAt],
      ]
    case 'running':
      return [
        ['worker', job.worker],
        ['started', job.startedAt],
        ['lease ends', job.leaseEndsAt],
        ['cancel asked', job.cancelRequestedAt],
      ]
    case 'completed':
      return [...endFacts(job), ['result', jsonText(job.result)]]
    case 'dead':
      return [...endFacts(job), ['error', job.error?.message]]
    case 'cancelled':
      return [...endFacts(job), ['cancelled by', job.by], ['why', job.why]]
    default:
      return job satisfies never
  }
}

function endFacts(job: Extract<JobRecord, { readonly finishedAt: Date }>): readonly Fact[] {
  return [
    ['started', job.startedAt],
    ['ended', job.finishedAt],
    ['worker', job.worker],
    ['note', job.note],
    ['attachment', jsonText(job.attachment)],
    ['kept until', job.keptUntil],
  ]
}

function saidText(entry: JournalEntry): string | null {
  const error = 'error' in entry ? entry.error?.message : undefined
  const parts = [error, 'why' in entry ? entry.why : undefined, entry.note]
  const said = parts.filter((part) => part !== undefined && part !== null)
  return said.length === 0 ? null : said.join('; ')
}

function jsonText(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}
