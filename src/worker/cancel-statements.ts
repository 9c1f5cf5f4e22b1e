import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export interface CancelledRunRow {
  readonly job_id: string
  readonly run: number
  readonly by: string | null
}

// By the worker alone, which a partial index over the few leases with a request serves; by ids the
// planner would take that index too, and walk it.
export const cancelledRuns: Statement<{ worker: string }, CancelledRunRow> = statement(
  'cancelled_runs',
  `
select job_id, run, cancel_by as by
from millrace.leases
where worker = $worker::text
  and cancel_requested_at is not null`,
)
