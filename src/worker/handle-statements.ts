import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

type OfRun = {
  readonly id: string
  readonly run: number
  readonly worker: string
}

// L4: what is over is over, even if nobody took it. A repeat changes nothing: the end never goes back.
export const extendLease: Statement<
  OfRun & { readonly extend_ms: number },
  { lease_ends_at: number }
> = statement(
  'extend_lease',
  `
update millrace.leases
set lease_ends_at = greatest(lease_ends_at, $now::text::timestamptz + $extend_ms::float8 * interval '1 millisecond')
where job_id = $id::text
  and run = $run::int
  and worker = $worker::text
  and lease_ends_at > $now::text::timestamptz
returning (extract(epoch from lease_ends_at) * 1000)::float8 as lease_ends_at`,
)

// L4, strict: the settlement that follows in this transaction is refused past the end. Renewals and
// cancels pass the lock, whoever would take the job skips it.
export const lockLivingLease: Statement<OfRun, { locked: number }> = statement(
  'lock_living_lease',
  `
select 1 as locked
from millrace.leases
where job_id = $id::text
  and run = $run::int
  and worker = $worker::text
  and lease_ends_at > $now::text::timestamptz
for key share`,
)
