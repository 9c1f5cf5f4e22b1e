import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

/** One look at a lock: taken (token and end), or not (until when it is held, how many stand before). */
export interface TakeRow {
  readonly token: number | null
  readonly expires_at: number | null
  readonly held_until: number | null
  readonly ahead: number
}

export type TakeParams = {
  readonly name: string
  readonly holder: string
  readonly owner: string
  readonly ttl_ms: number
  /** Locks that ended before this instant have ended by everybody's clock. */
  readonly lapsed_before: string
  /** When the clock was last found out of step; `-infinity` if it never was. */
  readonly doubted_at: string
  /** The handles of this client that wait for it, as an array; none for who does not wait. */
  readonly waiting: string
}

// K1. The row lock of the conflict decides between two takers, and what is compared then is the
// newest version of the row, whatever the snapshot says; so nothing can be taken twice. Its first part
// is in the snapshot: what is seen to be held is not even tried, so that waiters do not queue for row locks.
// The line is in the snapshot too: an order between those who have come, not a guard. Whoever stands
// behind n others may take it half a second later for each of them, so that dead ones cost that much
// and no more. The same holder asks again: it gets what it has. Waiters are written in the order of
// their ids (M6); this client's own are left out of the sweep, since one row must not be written twice.
export const takeLock: Statement<TakeParams, TakeRow> = statement(
  'take_lock',
  `
with line as materialized (
  select count(*)::int4 as ahead
  from (
    select 1 as one
    from millrace.lock_waiters w
    where w.name = $name::text
      and w.holder < $holder::text
      and (w.seen_at > $now::text::timestamptz - interval '5 seconds') is true
    limit 100
  ) w
),
taken as (
  insert into millrace.locks as l (name, holder, owner, token, acquired_at, expires_at, ttl_ms)
  select
    $name::text,
    $holder::text,
    $owner::text,
    (extract(epoch from $now::text::timestamptz) * 1000000)::int8,
    $now::text::timestamptz,
    $now::text::timestamptz + $ttl_ms::float8 * interval '1 millisecond',
    $ttl_ms::float8
  where not exists (
    select 1
    from millrace.locks h
    where h.name = $name::text
      and h.holder <> $holder::text
      and (h.expires_at > $now::text::timestamptz) is true
  )
  on conflict (name) do update set
    holder = excluded.holder,
    owner = excluded.owner,
    token = case
      when l.holder = excluded.holder and l.expires_at > $now::text::timestamptz then l.token
      else greatest(l.token + 1, excluded.token)
    end,
    acquired_at = case
      when l.holder = excluded.holder and l.expires_at > $now::text::timestamptz then l.acquired_at
      else excluded.acquired_at
    end,
    expires_at = greatest(l.expires_at, excluded.expires_at),
    ttl_ms = excluded.ttl_ms
  where (l.holder = excluded.holder and l.expires_at > $now::text::timestamptz)
    or (
      (
        l.holder is null
        or (
          l.expires_at <= $lapsed_before::text::timestamptz
          and $doubted_at::text::timestamptz + least(l.ttl_ms / 3, 30000) * interval '1 millisecond' <= $now::text::timestamptz
        )
      )
      and (
        (select ahead from line) = 0
        or l.expires_at + least((select ahead from line), 8) * interval '500 milliseconds' <= $now::text::timestamptz
      )
    )
  returning token, expires_at
),
joined as (
  insert into millrace.lock_waiters (name, holder, seen_at)
  select $name::text, x.holder, $now::text::timestamptz
  from (select unnest($waiting::text::text[]) as holder) x
  where x.holder <> $holder::text or not exists (select 1 from taken)
  order by x.holder
  on conflict (name, holder) do update set seen_at = excluded.seen_at
),
gone as (
  delete from millrace.lock_waiters w
  where w.name = $name::text
    and exists (select 1 from taken)
    and (
      w.holder = $holder::text
      or (
        (w.seen_at <= $now::text::timestamptz - interval '5 seconds') is true
        and w.holder <> all ($waiting::text::text[])
      )
    )
)
select
  (select token::float8 from taken) as token,
  (select (extract(epoch from expires_at) * 1000)::float8 from taken) as expires_at,
  (select (extract(epoch from l.expires_at) * 1000)::float8 from millrace.locks l where l.name = $name::text) as held_until,
  line.ahead
from line`,
)

/** Who gave up waiting stands in nobody's way. */
export const leaveLock: Statement<{ name: string; holders: string }, { holder: string }> =
  statement(
    'leave_lock',
    `
delete from millrace.lock_waiters w
where w.name = $name::text
  and w.holder = any ($holders::text::text[])
returning w.holder`,
  )

export interface HeldLockRow {
  readonly name: string
  readonly holder: string
  readonly expires_at: number
}

const HANDLES = `
x as materialized (
  select * from json_to_recordset($locks::text::json) as x(name text, holder text, ttl_ms float8)
)`

// Comparisons of times are `… is true`, so that the planner does not take an index of times for them:
// in a young table it costs it the same, in one with dead entries it walks them all.

// K2: one that has ended is not renewed, though nobody took it. A row that somebody holds is skipped,
// so that one lock in trouble does not end the others, and renewed within a second.
export const renewLocks: Statement<{ locks: string }, HeldLockRow> = statement(
  'renew_locks',
  `
with ${HANDLES},
held as materialized (
  select l.name
  from millrace.locks l
  where l.name = any (array(select name from x))
    and ((l.name, l.holder) in (select name, holder from x)) is true
    and (l.expires_at > $now::text::timestamptz) is true
  order by l.name
  for no key update skip locked
)
update millrace.locks l
set
  expires_at = greatest(
    l.expires_at,
    $now::text::timestamptz + (select x.ttl_ms from x where x.name = l.name and x.holder = l.holder) * interval '1 millisecond'
  ),
  ttl_ms = (select x.ttl_ms from x where x.name = l.name and x.holder = l.holder)
where l.name = any (array(select name from held))
returning l.name, l.holder, (extract(epoch from l.expires_at) * 1000)::float8 as expires_at`,
)

// What a renewal did not return was skipped or is lost; only a second look tells.
export const heldLocks: Statement<{ locks: string }, HeldLockRow> = statement(
  'held_locks',
  `
with ${HANDLES}
select l.name, l.holder, (extract(epoch from l.expires_at) * 1000)::float8 as expires_at
from millrace.locks l
where l.name = any (array(select name from x))
  and ((l.name, l.holder) in (select name, holder from x)) is true
  and (l.expires_at > $now::text::timestamptz) is true`,
)

// A hint goes with each, also where nobody waits: somebody may just be joining the line, unseen by
// this statement, and would then wait for his next look. The hints are in the same commit.
export const releaseLocks: Statement<
  { locks: string; announce: boolean },
  { name: string; holder: string }
> = statement(
  'release_locks',
  `
with ${HANDLES},
held as materialized (
  select l.name, l.holder
  from millrace.locks l
  where l.name = any (array(select name from x))
    and ((l.name, l.holder) in (select name, holder from x)) is true
    and (l.expires_at > $now::text::timestamptz) is true
  order by l.name
  for no key update
),
released as (
  update millrace.locks l
  set holder = null, expires_at = $now::text::timestamptz
  where l.name = any (array(select name from held))
  returning l.name
),
hints as (
  select count(pg_notify('{{channel}}', 'lock ' || released.name)) as sent
  from released
  where $announce::boolean
)
select held.name, held.holder
from held
join released on released.name = held.name
where (select sent from hints) is not null`,
)
