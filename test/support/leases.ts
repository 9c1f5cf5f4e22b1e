import type { Client } from 'pg'
import { makeId } from '../../src/core/id.ts'
import { instantText } from '../../src/core/instant-text.ts'
import { NOON } from './mill.ts'

/** A running job as another worker left it. */
export interface LeaseRow {
  readonly kind: string
  readonly worker?: string
  readonly run?: number
  readonly failures?: number
  /** Milliseconds since the epoch. Default noon. */
  readonly endsAt?: number
  readonly dedupKey?: string
  /** The stamped policy, as JSON. */
  readonly options?: object
}

/** Writes a lease and the body of its job; answers the job's id. */
export async function insertLease(sql: Client, row: LeaseRow): Promise<string> {
  const { kind, worker = 'gone:1:worker', run = 1, failures = 0, endsAt = NOON } = row
  const { dedupKey = null, options = null } = row
  const id = makeId(NOON)
  const at = instantText(endsAt - 60_000)
  await sql.query(
    `insert into jobs (id, kind, queue, payload, priority, created_at, dedup_key, options)
     values ($1, $2, 'default', '"left"', 5, $3, $4, $5)`,
    [id, kind, at, dedupKey, options === null ? null : JSON.stringify(options)],
  )
  await sql.query(
    `insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority, dedup_key)
     values ($1, $2, 'default', $3, $4, $5, $4, 60000, $6, $7, 5, $8)`,
    [id, worker, kind, at, instantText(endsAt), run, failures, dedupKey],
  )
  return id
}
