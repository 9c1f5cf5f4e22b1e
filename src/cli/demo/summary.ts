import type { JobRecord, JournalEntry, Mill } from '../../index.ts'
import type { Application } from './application.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'

/** What happened, by kind, and two jobs to look at more closely. */
export interface Summary {
  /** From the first job's creation to the last one's end, in milliseconds. */
  readonly durationMs: number
  /** The kinds with the most jobs first. */
  readonly kinds: readonly KindSummary[]
  /** All kinds but the first ten taken together; null when there are no others. */
  readonly others: KindSummary | null
  readonly total: KindSummary
  /** Of the jobs that failed and completed after all, the one with the most failures. */
  readonly retried: JobHistory | null
  readonly gaveUp: JobRecord | null
}

export interface KindSummary {
  readonly kind: string
  readonly jobs: number
  readonly runs: number
  readonly failures: number
  /** Half of the runs took at most this long, in milliseconds. */
  readonly p50: number
  readonly p95: number
}

export interface JobHistory {
  readonly job: JobRecord
  readonly journal: readonly JournalEntry[]
}

/** What a summary is read from. */
export interface Sources {
  readonly mill: Mill
  readonly application: Application
  readonly place: Place
}

/** How many kinds are shown by themselves. */
export const LARGEST = 10

export async function readSummary(sources: Sources): Promise<Summary> {
  const runs = await read<RunOfKind>(sources, READ_RUNS)
  const kinds = [...byKind(runs)]
    .map(([kind, group]) => summarise(kind, group))
    .toSorted((a, b) => b.jobs - a.jobs || (a.kind < b.kind ? -1 : 1))
  const largest = new Set(kinds.slice(0, LARGEST).map(({ kind }) => kind))
  const rest = runs.filter(({ kind }) => !largest.has(kind))
  const [span] = await read<{ readonly duration: number }>(sources, READ_SPAN)
  return {
    durationMs: span?.duration ?? 0,
    kinds,
    others: rest.length === 0 ? null : summarise(`${kinds.length - LARGEST} other kinds`, rest),
    total: summarise('all', runs),
    ...(await readExamples(sources)),
  }
}

interface RunOfKind {
  readonly kind: string
  readonly job: string
  readonly failed: boolean
  /** Milliseconds. */
  readonly took: number
}

const READ_RUNS = `
select
  job.kind,
  job.id as job,
  run.error is not null as failed,
  extract(epoch from run.at - run.started_at)::float8 * 1000 as took
from {{all_jobs}} job
join {{timeline}} run on run.job_id = job.id
where run.started_at is not null and job.kind like 'github.%'`

const READ_SPAN = `
select extract(epoch from max(finished_at) - min(created_at))::float8 * 1000 as duration
from {{all_jobs}}
where kind like 'github.%'`

const FIND_RETRIED = `
select id
from {{all_jobs}}
where state = 'completed' and failures > 0
order by failures desc, id
limit 1`

function read<Row extends object>(
  { application, place }: Sources,
  text: string,
): Promise<readonly Row[]> {
  return application.query<Row>(placed(text, place))
}

function byKind(runs: readonly RunOfKind[]): ReadonlyMap<string, readonly RunOfKind[]> {
  const groups = new Map<string, RunOfKind[]>()
  for (const run of runs) {
    const group = groups.get(run.kind)
    if (group === undefined) groups.set(run.kind, [run])
    else group.push(run)
  }
  return groups
}

function summarise(kind: string, runs: readonly RunOfKind[]): KindSummary {
  const times = runs.map(({ took }) => took).toSorted((a, b) => a - b)
  return {
    kind,
    jobs: new Set(runs.map(({ job }) => job)).size,
    runs: runs.length,
    failures: runs.filter(({ failed }) => failed).length,
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
  }
}

/** The smallest time that at least this share of the sorted times does not exceed. */
function percentile(times: readonly number[], share: number): number {
  return times[Math.max(0, Math.ceil(share * times.length) - 1)] ?? 0
}

async function readExamples(sources: Sources): Promise<Pick<Summary, 'retried' | 'gaveUp'>> {
  const [example] = await read<{ readonly id: string }>(sources, FIND_RETRIED)
  const { items: dead } = await sources.mill.jobs.list({ state: 'dead' }, { limit: 1 }).page()
  return {
    retried: example === undefined ? null : await historyOf(sources.mill, example.id),
    gaveUp: dead[0] ?? null,
  }
}

async function historyOf(mill: Mill, id: string): Promise<JobHistory | null> {
  const job = await mill.jobs.get(id)
  if (job === null) return null
  const journal: JournalEntry[] = []
  for await (const entry of mill.jobs.journal(id, { order: 'oldest' })) journal.push(entry)
  return { job, journal }
}
