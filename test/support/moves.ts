import type { Client } from 'pg'

/** Moves as other sessions make them, on a session of the test: open until it commits. */

/** pending → running, as a claim of the worker `stranger` would; expects one row. */
export async function claimByHand(sql: Client, id: string): Promise<void> {
  const { rowCount } = await sql.query(
    `with gone as (delete from ready where job_id = $1 returning *)
     insert into leases (
       job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority, dedup_key
     )
     select
       job_id, 'stranger', queue, kind, now(), now() + interval '1 hour', due_at, lease_ms, run + 1, failures,
       priority, dedup_key
     from gone`,
    [id],
  )
  if (rowCount !== 1) throw new Error(`${id} was not pending`)
}

/** running → pending, as the settlement of a failed run would. */
export async function retryByHand(sql: Client, id: string): Promise<void> {
  const { rowCount } = await sql.query(
    `with gone as (delete from leases where job_id = $1 returning *),
     logged as (
       insert into journal (job_id, at, outcome, run, failures, worker, started_at, due_at)
       select job_id, now(), 'retried', run, failures + 1, worker, started_at, now() from gone
     )
     insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority, reason)
     select job_id, queue, kind, now() + interval '1 hour', lease_ms, run, failures + 1, priority, 'retry'
     from gone`,
    [id],
  )
  if (rowCount !== 1) throw new Error(`${id} was not running`)
}
