import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { hintsOf } from '../jobs/enqueue-statements.ts'

/** One schedule to be fired, as decided by what a look at it saw. */
export interface FireRow {
  readonly schedule: string
  readonly revision: number
  /** The boundary that is due, and the next one. */
  readonly expected: string | null
  readonly next: string | null
  /** By hand: whatever is due, paused or alive; what is due later stays so. */
  readonly is_manual: boolean
  readonly asks: readonly { readonly id: string; readonly boundary: string }[]
}

const FIRES = `
x as materialized (
  select *
  from json_to_recordset($fires::text::json) as f(
    schedule text, revision int, expected timestamptz, next timestamptz, is_manual boolean, asks json
  )
)`

const GUARD = `s.revision = x.revision and (x.is_manual or (s.next_fire_at = x.expected and s.paused_at is null))`

// Chosen by who is to fire them, \`skip locked\`: whom another fires at this moment is left to it. The
// guard is repeated by the update, and everything after reads what that returned (M1).
const DUE = `
due as materialized (
  select
    s.schedule, x.revision, x.expected, x.next, x.is_manual, x.asks,
    s.skips_overlap and not x.is_manual and (
      (select true from millrace.ready r where r.job_id = s.last_job_id limit 1) is true
      or (select true from millrace.leases l where l.job_id = s.last_job_id limit 1) is true
    ) as is_held
  from x
  cross join lateral (
    select s.schedule, s.skips_overlap, s.last_job_id
    from millrace.schedules s
    where s.schedule = x.schedule and ${GUARD}
    limit 1
    for update skip locked
  ) s
),
asked as materialized (
  select d.schedule, a.id, a.boundary
  from due d
  cross join lateral json_to_recordset(d.asks) as a(id text, boundary timestamptz)
  where not d.is_held
    and (select true from millrace.jobs j where j.schedule = d.schedule and j.boundary = a.boundary limit 1) is null
    and (select true from millrace.journal e where e.schedule = d.schedule and e.boundary = a.boundary limit 1) is null
)`

export type FireParams = { readonly fires: string; readonly hint_until: string }

export interface FiredRow {
  readonly schedule: string
  /** Null: the schedule moved on without a job. */
  readonly id: string | null
  readonly kind: string
  readonly queue: string
}

// S2, for schedules without a key: who moves next_fire_at on enqueues the job, in one statement, so
// that a worker that dies has done both or neither. A boundary that has a job already, of a schedule
// that was removed and came back, gets no second one; the schedule moves on. While the last job
// lives, an overlap is skipped.
export const fireSchedules: Statement<FireParams, FiredRow> = statement(
  'fire_schedules',
  `
with ${FIRES},
${DUE},
moved as (
  update millrace.schedules s
  set
    next_fire_at = case when x.is_manual then s.next_fire_at else x.next end,
    last_fire_at = coalesce((select max(a.boundary) from asked a where a.schedule = s.schedule), s.last_fire_at),
    last_job_id = coalesce(
      (select a.id from asked a where a.schedule = s.schedule order by a.boundary desc limit 1),
      s.last_job_id
    ),
    revision = case when x.is_manual then s.revision + 1 else s.revision end
  from due x
  where s.schedule = x.schedule and ${GUARD}
  returning s.schedule, s.kind, s.queue, s.payload, s.options, s.priority, s.lease_ms, s.expires_after_ms
),
body as (
  insert into millrace.jobs (id, kind, queue, payload, priority, created_at, options, schedule, boundary)
  select a.id, m.kind, m.queue, m.payload, m.priority, $now::text::timestamptz, m.options, m.schedule, a.boundary
  from moved m
  join asked a on a.schedule = m.schedule
  on conflict (schedule, boundary) where schedule is not null do nothing
  returning id, schedule
),
place as (
  insert into millrace.ready (job_id, queue, kind, priority, due_at, expires_at, lease_ms, run, failures)
  select
    body.id, m.queue, m.kind, m.priority, $now::text::timestamptz,
    $now::text::timestamptz + m.expires_after_ms * interval '1 millisecond', m.lease_ms, 0, 0
  from body
  join moved m on m.schedule = body.schedule
  returning queue, due_at
),
${hintsOf('place')}
select m.schedule, body.id, m.kind, m.queue
from moved m
left join body on body.schedule = m.schedule
where (select sent from hints) is not null`,
)

/** What an ask of a schedule with a key is made of. */
export interface BegunRow {
  readonly schedule: string
  readonly kind: string
  readonly queue: string
  readonly payload: string
  readonly options: string | null
  readonly dedup_key: string
  readonly dedup: string
  readonly merge: string
  readonly priority: number
  readonly lease_ms: number
  readonly expires_after_ms: number | null
  /** Those of the asks that have no job and no merge yet; null: the schedule moved on without any. */
  readonly id: string | null
  readonly boundary: number | null
}

// S2, for a schedule with a key: the first statement of the transaction that fires it. Its asks are
// written after it, and may meet a job.
export const beginFire: Statement<{ fires: string }, BegunRow> = statement(
  'begin_fire',
  `
with ${FIRES},
${DUE},
moved as (
  update millrace.schedules s
  set
    next_fire_at = case when x.is_manual then s.next_fire_at else x.next end,
    revision = case when x.is_manual then s.revision + 1 else s.revision end
  from due x
  where s.schedule = x.schedule and ${GUARD}
  returning
    s.schedule, s.kind, s.queue, s.payload::text as payload, s.options::text as options, s.dedup_key,
    s.dedup::text as dedup, s.merge, s.priority::int4 as priority, s.lease_ms::float8 as lease_ms,
    s.expires_after_ms::float8 as expires_after_ms
)
select m.*, a.id, (extract(epoch from a.boundary) * 1000)::float8 as boundary
from moved m
left join asked a on a.schedule = m.schedule`,
)

// The boundary, on the job of the ask, or on the entry of its merge, unique there; an ask that a
// running job stands for changed nothing, and is recorded nowhere but here.
export const markFire: Statement<
  {
    readonly schedule: string
    readonly boundary: string
    readonly asked: string
    readonly job_id: string
  },
  { schedule: string }
> = statement(
  'mark_fire',
  `
with job as (
  update millrace.jobs
  set schedule = $schedule::text, boundary = $boundary::text::timestamptz
  where id = $asked::text
),
entry as (
  update millrace.journal
  set schedule = $schedule::text, boundary = $boundary::text::timestamptz
  where asked_id = $asked::text
)
update millrace.schedules
set last_fire_at = $boundary::text::timestamptz, last_job_id = $job_id::text
where schedule = $schedule::text
returning schedule`,
)

// By hand, a schedule that is being fired is waited for: this returns when nobody holds it any more.
export const awaitSchedule: Statement<{ schedule: string }, { schedule: string }> = statement(
  'await_schedule',
  `
select schedule
from millrace.schedules
where schedule = $schedule::text
for update`,
)
