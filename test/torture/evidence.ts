import { Client } from 'pg'
import type { QueryResultRow } from 'pg'
import type { Fact } from './history/fact.ts'

/** All that is known when a torture has ended: what was asked, what the tables say, what the processes did. */
export interface Evidence {
  readonly asks: readonly Ask[]
  readonly jobs: readonly TortureJob[]
  readonly records: readonly RunRecord[]
  readonly executions: readonly Execution[]
  readonly interruptions: readonly Interruption[]
  /** A job is dead at this failure. */
  readonly failureLimit: number
}

/** The same as facts, for the checker of histories, and what else is known only there. */
export interface Testimony extends Evidence {
  readonly facts: readonly Fact[]
}

export interface Ask {
  readonly number: number
  /** The answer; null when it is not known, but that there must be one job. */
  readonly id: string | null
  /** Whether there must be a job of this number. */
  readonly expected: 'there' | 'absent' | 'unknown'
}

export interface TortureJob {
  readonly id: string
  readonly number: number
  readonly ends: 'completed' | 'gave-up' | 'failed'
  readonly failures: number
  /** The tables among ready, leases and finished that hold it. */
  readonly places: readonly string[]
}

/** One run, as journal or `finished` record it. */
export interface RunRecord {
  readonly job: string
  readonly run: number
  readonly outcome: string
  readonly reason: string | null
  /** After the run. */
  readonly failures: number
  readonly worker: string
  /** The worker that took it from a lost one. */
  readonly recoveredBy: string | null
  readonly startedAt: number
  readonly at: number
  /** When the next run may begin; null at the end. */
  readonly dueAt: number | null
}

/** One call of the handler, as its process logged it. */
export interface Execution {
  readonly job: string
  readonly run: number
  readonly worker: string
  readonly beganAt: number
  /** When its signal aborted. */
  readonly toldAt: number | null
  /** Null when its process was killed first. */
  readonly endedAt: number | null
}

/** Something that was done to the processes or to the server. */
export interface Interruption {
  readonly what: 'kill' | 'terminate' | 'freeze' | 'disconnect' | 'crash' | 'kill-producer'
  /** The worker it was done to; null for all of them. */
  readonly worker: string | null
  readonly from: number
  /** When the process was itself again; Infinity when it never was. */
  readonly to: number
}

export function jobsOf(url: string): Promise<readonly TortureJob[]> {
  return rowsOf<TortureJob>(
    url,
    `select
       j.id, (j.payload ->> 'number')::int as number, j.payload ->> 'ends' as ends,
       (j.payload ->> 'failures')::int as failures,
       array_remove(array[
         (select 'ready' from millrace.ready where job_id = j.id),
         (select 'leases' from millrace.leases where job_id = j.id),
         (select 'finished' from millrace.finished where job_id = j.id)
       ], null) as places
     from millrace.jobs j`,
  )
}

export function recordsOf(url: string): Promise<readonly RunRecord[]> {
  return rowsOf<RunRecord>(
    url,
    `select
       job_id as job, run, outcome, reason, failures, worker, recovered_by as "recoveredBy",
       (extract(epoch from started_at) * 1000)::float8 as "startedAt",
       (extract(epoch from at) * 1000)::float8 as at,
       (extract(epoch from due_at) * 1000)::float8 as "dueAt"
     from millrace.timeline
     where started_at is not null
     order by job_id, entry`,
  )
}

async function rowsOf<Row extends QueryResultRow>(
  url: string,
  text: string,
): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
