import type { Client } from 'pg'
import { makeId } from '../../src/core/id.ts'
import { NOON } from './mill.ts'

/** A job as it ended. */
export interface FinishedRow {
  readonly state?: 'completed' | 'dead' | 'cancelled'
  readonly kind?: string
  /** Milliseconds since the epoch; null: kept for ever. Default null. */
  readonly pruneAt?: number | null
  readonly run?: number
  readonly failures?: number
  readonly priority?: number
  readonly dedupKey?: string
  /** The stamped policy. */
  readonly options?: object
}

/** Writes an ended job with its body and a journal entry of its first run; answers its id. */
export async function insertFinished(sql: Client, row: FinishedRow = {}): Promise<string> {
  const { state = 'dead', kind = 'ended', pruneAt = null, run = 2, failures = 2 } = row
  const { priority = 5, dedupKey = null, options = null } = row
  const id = makeId(NOON)
  const at = new Date(NOON)
  await sql.query(
    `insert into jobs (id, kind, queue, payload, priority, created_at, dedup_key, options)
     values ($1, $2, 'ended', '{"n":1}', $3, $4, $5, $6)`,
    [id, kind, priority, at, dedupKey, options === null ? null : JSON.stringify(options)],
  )
  await sql.query(
    `insert into journal (job_id, at, started_at, due_at, run, failures, outcome, worker, error)
     values ($1, $2, $2, $2, 1, 1, 'retried', 'w', '{"name":"Error","message":"first"}')`,
    [id, at],
  )
  const reason = state === 'dead' ? 'failed' : null
  const error = state === 'dead' ? '{"name":"Error","message":"last"}' : null
  await sql.query(
    `insert into finished (job_id, state, reason, kind, queue, finished_at, started_at, prune_at, run, failures,
       worker, decided_by, why, note, attachment, error)
     values ($1, $2, $3, $4, 'ended', $5, $5, $6, $7, $8, 'w', 'ada', 'because', 'noted', '{"a":1}', $9)`,
    [
      id,
      state,
      reason,
      kind,
      at,
      pruneAt === null ? null : new Date(pruneAt),
      run,
      failures,
      error,
    ],
  )
  return id
}
