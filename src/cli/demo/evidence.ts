import type { Application } from './application.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'

/** What the tables say when everything is over, as it was read: Millrace's views, the application's tables. */
export interface Evidence {
  readonly deliveries: readonly StoredDelivery[]
  readonly processed: readonly string[]
  readonly repositories: readonly RepositoryRow[]
  readonly senders: readonly SenderRow[]
  /** What the projection made of the stream. */
  readonly totals: readonly TotalsRow[]
  readonly jobs: readonly JobRow[]
  /** One row a run that was recorded. */
  readonly runs: readonly RunRow[]
  /** One id a failure that was recorded. */
  readonly failures: readonly string[]
}

export interface StoredDelivery {
  readonly id: string
  readonly event: string
  readonly body: string
  readonly job: string
}

export interface RepositoryRow {
  readonly name: string
  readonly deliveries: number
  readonly commits: number
  readonly comments: number
}

export interface SenderRow {
  readonly login: string
  readonly type: string
  readonly deliveries: number
}

export interface TotalsRow {
  readonly event: string
  readonly deliveries: number
  readonly commits: number
  readonly comments: number
}

export interface JobRow {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly detail: string | null
  readonly run: number
  readonly failures: number
  readonly payload: string | null
}

export interface RunRow {
  readonly job: string
  readonly run: number
}

export async function readEvidence(
  application: Pick<Application, 'query'>,
  place: Place,
): Promise<Evidence> {
  const read = <Row extends object>(text: string): Promise<readonly Row[]> =>
    application.query<Row>(placed(text, place))
  const processed = await read<{ readonly delivery: string }>(PROCESSED)
  const failures = await read<{ readonly job: string }>(FAILURES)
  return {
    deliveries: await read(DELIVERIES),
    processed: processed.map(({ delivery }) => delivery),
    repositories: await read(REPOSITORIES),
    senders: await read(SENDERS),
    totals: await read(TOTALS),
    jobs: await read(JOBS),
    runs: await read(RUNS),
    failures: failures.map(({ job }) => job),
  }
}

const DELIVERIES = `
select id, event, body::text as body, job_id as job
from {{deliveries}}`

const PROCESSED = `
select delivery_id as delivery
from {{processed}}`

const REPOSITORIES = `
select name, deliveries, commits, comments
from {{repositories}}
order by deliveries desc, name`

const SENDERS = `
select login, type, deliveries
from {{senders}}
order by deliveries desc, login`

const TOTALS = `
select event, deliveries, commits, comments
from {{totals}}
order by deliveries desc, event`

// The jobs of the schedule are no deliveries.
const JOBS = `
select id, kind, state, detail, run, failures, payload::text as payload
from {{all_jobs}}
where kind like 'github.%'
order by id`

const RUNS = `
select job_id as job, run
from {{timeline}}
where started_at is not null
order by job_id, run`

const FAILURES = `
select job_id as job
from {{errors}}`
