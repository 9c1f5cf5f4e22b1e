import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** A schedule as it stands; instants in epoch milliseconds. */
export interface ScheduleRow {
  readonly schedule: string
  readonly kind: string
  readonly queue: string
  readonly dedup_key: string | null
  readonly dedup: string | null
  readonly merge: string | null
  readonly cron: string | null
  readonly timezone: string | null
  readonly every_ms: number | null
  readonly catch_up: number
  readonly skips_overlap: boolean
  readonly revision: number
  readonly next_fire_at: number | null
  readonly last_fire_at: number | null
  readonly last_job_id: string | null
  readonly paused_at: number | null
}

const instant = (column: string): string =>
  `(extract(epoch from s.${column}) * 1000)::float8 as ${column}`

const SCHEDULE = `
  s.schedule, s.kind, s.queue, s.dedup_key, s.dedup::text as dedup, s.merge, s.cron, s.timezone,
  s.every_ms::float8 as every_ms, s.catch_up, s.skips_overlap, s.revision,
  ${instant('next_fire_at')}, ${instant('last_fire_at')}, s.last_job_id, ${instant('paused_at')}`

/** A hint goes with the change, in the same commit, unless nobody is to send any (`wake: 'poll'`). */
export type Announced = { readonly announce: boolean }

const ANNOUNCED = `
hints as (
  select count(pg_notify('{{channel}}', 'schedules')) as sent
  from (select from changed limit 1) c
  where $announce::boolean
)
select changed.schedule
from changed
where (select sent from hints) is not null`

type Named = { readonly schedule: string }

export const listSchedules: Statement<Record<string, never>, ScheduleRow> = statement(
  'list_schedules',
  `
select ${SCHEDULE}
from millrace.schedules s
order by s.schedule`,
)

export const getSchedule: Statement<{ schedule: string }, ScheduleRow> = statement(
  'get_schedule',
  `
select ${SCHEDULE}
from millrace.schedules s
where s.schedule = $schedule::text`,
)

// What is due and what is due next, in one look. Those that only a worker with their kind can fire
// are left to such workers.
export const soonestSchedules: Statement<{ kinds: string; most: number }, ScheduleRow> = statement(
  'soonest_schedules',
  `
select ${SCHEDULE}
from millrace.schedules s
where s.paused_at is null
  and s.next_fire_at is not null
  and (s.merge is distinct from 'function' or s.kind = any ($kinds::text::text[]))
order by s.next_fire_at
limit $most::int`,
)

export type RegisterParams = Announced & {
  readonly schedule: string
  readonly kind: string
  readonly queue: string
  readonly payload: string
  readonly options: string | null
  readonly dedup_key: string | null
  readonly dedup: string | null
  readonly merge: string | null
  readonly cron: string | null
  readonly timezone: string | null
  readonly every_ms: number | null
  readonly expires_after_ms: number | null
  readonly lease_ms: number
  readonly priority: number
  readonly catch_up: number
  readonly skips_overlap: boolean
  /** The first boundary after now, for one that is new or whose timing changed. */
  readonly next_fire_at: string
}

// S1: what did not change is not written, so that an application that registers its schedules at
// every start changes nothing; and the next fire is computed anew only where the timing changed. A
// pause stays. json has no equality: its text has.
export const registerSchedule: Statement<RegisterParams, Named> = statement(
  'register_schedule',
  `
with changed as (
  insert into millrace.schedules as s (
    schedule, kind, queue, payload, options, dedup_key, dedup, merge, cron, timezone, next_fire_at,
    lease_ms, expires_after_ms, every_ms, catch_up, priority, skips_overlap
  )
  values (
    $schedule::text, $kind::text, $queue::text, $payload::text::json, $options::text::json,
    $dedup_key::text, $dedup::text::json, $merge::text, $cron::text, $timezone::text,
    $next_fire_at::text::timestamptz, $lease_ms::float8, $expires_after_ms::float8, $every_ms::float8,
    $catch_up::int, $priority::int, $skips_overlap::boolean
  )
  on conflict (schedule) do update set
    kind = excluded.kind,
    queue = excluded.queue,
    payload = excluded.payload,
    options = excluded.options,
    dedup_key = excluded.dedup_key,
    dedup = excluded.dedup,
    merge = excluded.merge,
    cron = excluded.cron,
    timezone = excluded.timezone,
    next_fire_at = case
      when (s.cron, s.timezone, s.every_ms) is not distinct from (excluded.cron, excluded.timezone, excluded.every_ms)
        then s.next_fire_at
      else excluded.next_fire_at
    end,
    lease_ms = excluded.lease_ms,
    expires_after_ms = excluded.expires_after_ms,
    every_ms = excluded.every_ms,
    catch_up = excluded.catch_up,
    revision = s.revision + 1,
    priority = excluded.priority,
    skips_overlap = excluded.skips_overlap
  where (
      s.kind, s.queue, s.payload::text, s.options::text, s.dedup_key, s.dedup::text, s.merge, s.cron,
      s.timezone, s.every_ms, s.lease_ms, s.expires_after_ms, s.catch_up, s.priority, s.skips_overlap
    ) is distinct from (
      excluded.kind, excluded.queue, excluded.payload::text, excluded.options::text, excluded.dedup_key,
      excluded.dedup::text, excluded.merge, excluded.cron, excluded.timezone, excluded.every_ms,
      excluded.lease_ms, excluded.expires_after_ms, excluded.catch_up, excluded.priority, excluded.skips_overlap
    )
  returning schedule
),
${ANNOUNCED}`,
)

// One that is paused already stays paused since then. The revision makes a fire that is decided
// already miss; one that holds the row is waited for, and was first.
export const pauseSchedule: Statement<Announced & Named, Named> = statement(
  'pause_schedule',
  `
with changed as (
  update millrace.schedules
  set paused_at = coalesce(paused_at, $now::text::timestamptz), revision = revision + 1
  where schedule = $schedule::text
  returning schedule
),
${ANNOUNCED}`,
)

// S4: what came by during the pause is not made up for.
export const resumeSchedule: Statement<
  Announced & Named & { readonly revision: number; readonly next_fire_at: string | null },
  Named
> = statement(
  'resume_schedule',
  `
with changed as (
  update millrace.schedules
  set paused_at = null, next_fire_at = $next_fire_at::text::timestamptz, revision = revision + 1
  where schedule = $schedule::text
    and revision = $revision::int
    and paused_at is not null
  returning schedule
),
${ANNOUNCED}`,
)

export const removeSchedule: Statement<Announced & Named, Named> = statement(
  'remove_schedule',
  `
with changed as (
  delete from millrace.schedules
  where schedule = $schedule::text
  returning schedule
),
${ANNOUNCED}`,
)

export const undeclaredSchedules: Statement<{ declared: string; prefix: string }, Named> =
  statement(
    'undeclared_schedules',
    `
select schedule
from millrace.schedules
where starts_with(schedule, $prefix::text)
  and schedule <> all ($declared::text::text[])
order by schedule`,
  )

// In the order of the names (M6): two applications may prune at once.
export const pruneSchedules: Statement<
  Announced & { readonly declared: string; readonly prefix: string },
  Named
> = statement(
  'prune_schedules',
  `
with due as materialized (
  select schedule
  from millrace.schedules
  where starts_with(schedule, $prefix::text)
    and schedule <> all ($declared::text::text[])
  order by schedule
  for update
),
changed as (
  delete from millrace.schedules
  where schedule = any (array(select schedule from due))
  returning schedule
),
${ANNOUNCED}`,
)
