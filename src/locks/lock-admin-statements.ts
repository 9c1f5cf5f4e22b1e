import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

// By hand, whoever holds it. The holder learns it by the hint, or with its next renewal.
export const breakLock: Statement<{ name: string; announce: boolean }, { name: string }> =
  statement(
    'break_lock',
    `
with released as (
  update millrace.locks l
  set holder = null, expires_at = $now::text::timestamptz
  where l.name = $name::text
    and l.holder is not null
    and (l.expires_at > $now::text::timestamptz) is true
  returning l.name
),
hints as (
  select count(pg_notify('{{channel}}', 'unlock ' || released.name)) as sent
  from released
  where $announce::boolean
)
select released.name
from released
where (select sent from hints) is not null`,
  )

export interface ListedLockRow {
  readonly name: string
  readonly owner: string
  readonly token: number
  readonly acquired_at: number
  readonly expires_at: number
  readonly waiting: number
}

export const listLocks: Statement<{ after: string; most: number }, ListedLockRow> = statement(
  'list_locks',
  `
select
  l.name,
  l.owner,
  l.token::float8 as token,
  (extract(epoch from l.acquired_at) * 1000)::float8 as acquired_at,
  (extract(epoch from l.expires_at) * 1000)::float8 as expires_at,
  (
    select count(*)::int4
    from millrace.lock_waiters w
    where w.name = l.name and (w.seen_at > $now::text::timestamptz - interval '5 seconds') is true
  ) as waiting
from millrace.locks l
where l.name > $after::text
  and l.holder is not null
  and (l.expires_at > $now::text::timestamptz) is true
order by l.name
limit $most::int`,
)

// Chosen rows (M1); one that is being taken again is left alone.
export const pruneLocks: Statement<{ most: number }, { pruned: number }> = statement(
  'prune_locks',
  `
with due as materialized (
  select ctid as tid
  from millrace.locks
  where expires_at < $now::text::timestamptz - interval '1 day'
  order by expires_at
  limit $most::int
  for update skip locked
),
gone as (
  delete from millrace.locks
  where ctid = any (array(select tid from due))
  returning name
)
select count(*)::int4 as pruned
from gone`,
)

// What killed processes left in the lines of locks that nobody took since.
export const pruneLockWaiters: Statement<{ most: number }, { pruned: number }> = statement(
  'prune_lock_waiters',
  `
with due as materialized (
  select ctid as tid
  from millrace.lock_waiters
  where seen_at < $now::text::timestamptz - interval '1 day'
  order by seen_at
  limit $most::int
  for update skip locked
),
gone as (
  delete from millrace.lock_waiters
  where ctid = any (array(select tid from due))
  returning name
)
select count(*)::int4 as pruned
from gone`,
)
