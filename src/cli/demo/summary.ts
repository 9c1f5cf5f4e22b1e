import type { Mill, JobRecord, JournalEntry } from '../../index.ts'
import type { Application } from './application.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'

/** What happened, by kind, and two jobs to look at more closely. */
export interface Summary {
  /** From the first job's creation to the last one's end, in milliseconds. */
  readonly durationMs: number
  /** The kinds with the most jobs first. */
  readonly kinds: readonly KindSummary[]
  readonly total: KindSummary
  /** Of the jobs that failed and completed after all, the one with the most runs. */
  readonly retried: JobHistory | null
  readonly gaveUp: JobRecord | null
}

export interface KindSummary {
  readonly kind: string
  readonly jobs: number
  readonly runs: number
  readonly failures: number
  /** Half of the runs took less, in milliseconds. */
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

export async function readSummary(sources: Sources): Promise<Summary> {
  const rows = await read<KindRow>(sources, SUMMARISE)
  const [example] = await read<{ readonly id: string }>(sources, FIND_RETRIED)
  const [span] = await read<{ readonly duration: number }>(sources, SPAN)
  const { items: dead } = await sources.mill.jobs.list({ state: 'dead' }, { limit: 1 }).page()
  const kinds = rows.flatMap(({ kind, ...row }) => (kind === null ? [] : [{ kind, ...row }]))
  return {
    durationMs: span?.duration ?? 0,
    kinds,
    total: { ...NOTHING, ...rows.find(({ kind }) => kind === null), kind: 'all' },
    retried: example === undefined ? null : await historyOf(sources.mill, example.id),
    gaveUp: dead[0] ?? null,
  }
}

function read<Row extends object>(
  { application, place }: Sources,
  text: string,
): Promise<readonly Row[]> {
  return application.query<Row>(placed(text, place))
}

async function historyOf(mill: Mill, id: string): Promise<JobHistory | null> {
  const job = await mill.jobs.get(id)
  if (job === null) return null
  const journal: JournalEntry[] = []
  for await (const entry of mill.jobs.journal(id, { order: 'oldest' })) journal.push(entry)
  return { job, journal }
}

type KindRow = Omit<KindSummary, 'kind'> & { readonly kind: string | null }

const NOTHING: KindSummary = { kind: '', jobs: 0, runs: 0, failures: 0, p50: 0, p95: 0 }

// The row without a kind is of all: percentiles do not add up.
const SUMMARISE = `
select
  job.kind,
  count(distinct job.id)::integer as jobs,
  count(*)::integer as runs,
  count(*) filter (where run.error is not null)::integer as failures,
  percentile_cont(0.5) within group (order by run.took) as p50,
  percentile_cont(0.95) within group (order by run.took) as p95
from {{all_jobs}} job
join (
  select job_id, error, extract(epoch from at - started_at)::float8 * 1000 as took
  from {{timeline}}
  where started_at is not null
) run on run.job_id = job.id
group by grouping sets ((job.kind), ())
order by jobs desc, job.kind`

const FIND_RETRIED = `
select id
from {{all_jobs}}
where state = 'completed' and failures > 0
order by failures desc, id
limit 1`

const SPAN = `
select extract(epoch from max(finished_at) - min(created_at))::float8 * 1000 as duration
from {{all_jobs}}`
