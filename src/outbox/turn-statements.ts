import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'
import { hintsOf } from '../jobs/enqueue-statements.ts'

export type TurnParams = {
  /** JSON: keys whose head has ended, each { kind, key }. */
  readonly keys: string
  /** At most so many of those that arrived. */
  readonly most: number
  readonly hint_until: string
}

export interface TurnRow {
  /** Messages that are due from now on. */
  readonly given: number
  /** Arrivals that were decided and places that were cleared: above 0 the next statement has less to do. */
  readonly cleared: number
  /** Something is left that the next statement can do: others were at it, or there is more of it. */
  readonly is_more: boolean
  /** Whether any message had its turn, or had arrived: also one that another session is about to give it. */
  readonly is_busy: boolean
}

// Of a key without a head that lives the first so many are looked at; more only where all have ended.
const FRONT = 10

/** Whether a message holds the turn of its key: due, running, retrying, or dead and halting. Waiting in line is not it. */
const HOLDS = `
    coalesce(
      (select r.reason is distinct from 'line' from millrace.ready r where r.job_id = h.job_id limit 1),
      (select true from millrace.leases l where l.job_id = h.job_id limit 1),
      (
        select f.state = 'dead'
          and (select l.halts and not l.is_over from millrace.outbox_line l where l.job_id = h.job_id)
        from millrace.finished f
        where f.job_id = h.job_id
        limit 1
      ),
      false
    )`

/**
 * B1: gives the turn. For each key that something arrived of, or whose head has ended, the first of
 * its line becomes the head, if no message holds the turn. All is decided by one snapshot, in which a
 * message is in one place; a commit that this snapshot sees sees all that was committed before it, so
 * the first of the line is the first committed. What moved since is missed: a head is replaced only
 * by its ctid, and given to a key without one only by the unique key. What could not be decided stays
 * in the inbox. So sessions that are late, or stopped for an hour in the middle, never give a second
 * turn; and a head that was given in vain is found by the next look.
 */
export const takeTurns: Statement<TurnParams, TurnRow> = statement(
  'take_turns',
  `
with arrived as materialized (
  select ctid as tid, kind, key
  from millrace.outbox_inbox
  order by arrival
  limit $most::int
  for update skip locked
),
k as materialized (
  select a.kind collate "C" as kind, a.key collate "C" as key
  from json_to_recordset($keys::text::json) as a(kind text, key text)
  union
  select kind, key from arrived
),
head as materialized (
  select k.kind, k.key, h.tid, h.job_id, h.job_id is not null and ${HOLDS} as holds
  from k
  left join lateral (
    select ctid as tid, job_id
    from millrace.outbox_heads h
    where h.kind = k.kind and h.key = k.key
    limit 1
  ) h on true
),
front as materialized (
  select
    h.kind, h.key, l.tid as line_tid, l.position, l.job_id, l.due_at, r.tid as ready_tid,
    case
      when r.reason = 'line' then 'waits'
      when r.tid is not null or l.is_running then 'lives'
      when l.ended = 'dead' and l.halts then 'halts'
      when l.ended in ('dead', 'cancelled') then 'is over'
      else 'is done'
    end as standing
  from head h
  cross join lateral (
    select
      l.ctid as tid, l.position, l.job_id, l.due_at, l.halts,
      (select true from millrace.leases x where x.job_id = l.job_id limit 1) as is_running,
      (select f.state from millrace.finished f where f.job_id = l.job_id limit 1) as ended
    from millrace.outbox_line l
    where l.kind = h.kind and l.key = h.key and not l.is_over
    order by l.position
    limit ${FRONT}
  ) l
  left join lateral (
    select r.ctid as tid, r.reason
    from millrace.ready r
    where r.job_id = l.job_id
    limit 1
  ) r on true
  where not h.holds
),
first as materialized (
  select distinct on (kind, key) *
  from front
  where standing in ('waits', 'lives', 'halts')
  order by kind, key, standing = 'lives' desc, position
),
sizes as materialized (
  select kind, key, count(*) as size from front group by kind, key
),
plan as materialized (
  select h.kind, h.key, h.tid, f.job_id, f.due_at, f.ready_tid
  from head h
  left join first f on f.kind = h.kind and f.key = h.key
  left join sizes s on s.kind = h.kind and s.key = h.key
  where not h.holds
    and (f.job_id is not null or coalesce(s.size, 0) < ${FRONT})
),
kept as materialized (
  select l.ctid as tid
  from millrace.outbox_line l
  where l.ctid = any (array(select line_tid from front where standing = 'is over'))
  for update skip locked
),
passed as (
  update millrace.outbox_line
  set is_over = true
  where ctid = any (array(select tid from kept))
),
done as materialized (
  select l.ctid as tid
  from millrace.outbox_line l
  where l.ctid = any (array(select line_tid from front where standing = 'is done'))
  for update skip locked
),
removed as (
  delete from millrace.outbox_line
  where ctid = any (array(select tid from done))
),
outdated as materialized (
  select h.ctid as tid
  from millrace.outbox_heads h
  where h.ctid = any (array(select tid from plan))
  for update skip locked
),
emptied as (
  delete from millrace.outbox_heads h
  where h.ctid = any (array(select tid from outdated))
    and ((h.kind, h.key) in (select kind, key from plan where job_id is null)) is true
  returning h.kind, h.key
),
moved as (
  update millrace.outbox_heads h
  set job_id = p.job_id
  from plan p
  where h.ctid = any (array(select tid from outdated))
    and p.kind = h.kind
    and p.key = h.key
    and p.job_id is not null
  returning h.kind, h.key
),
begun as (
  insert into millrace.outbox_heads (kind, key, job_id)
  select kind, key, job_id
  from plan
  where tid is null and job_id is not null
  order by kind, key
  on conflict (kind, key) do nothing
  returning kind, key
),
turned as materialized (
  select kind, key from moved
  union all
  select kind, key from begun
),
given as materialized (
  select p.job_id, p.due_at, p.ready_tid
  from plan p
  where (p.kind, p.key) in (select kind, key from turned)
),
due as materialized (
  select r.ctid as tid
  from millrace.ready r
  where r.ctid = any (array(select ready_tid from given))
  for update skip locked
),
changed as (
  update millrace.ready r
  set
    due_at = greatest($now::text::timestamptz, g.due_at),
    reason = case when r.run > 0 then 'redrive' end
  from given g
  where r.ctid = any (array(select tid from due))
    and g.job_id = r.job_id
    and r.reason = 'line'
  returning r.queue, r.due_at
),
decided as materialized (
  select kind, key from head where holds
  union all
  select kind, key from plan where tid is null and job_id is null
  union all
  select kind, key from emptied
  union all
  select kind, key from turned
),
consumed as (
  delete from millrace.outbox_inbox
  where ctid = any (array(select tid from arrived where (kind, key) in (select kind, key from decided)))
  returning 1
),
${hintsOf('changed')}
select
  (select count(*) from changed)::int4 as given,
  ((select count(*) from consumed) + (select count(*) from kept) + (select count(*) from done))::int4 as cleared,
  (
    (select count(*) from consumed) < (select count(*) from arrived)
    or (select count(*) from arrived) = $most::int
    or (select count(*) from changed) < (select count(*) from given where ready_tid is not null)
    or (select count(*) from decided) < (select count(*) from k)
  ) as is_more,
  coalesce(
    (select true from millrace.outbox_heads limit 1),
    (select true from millrace.outbox_inbox limit 1),
    false
  ) as is_busy
from hints`,
)

export interface EndedHeadsRow {
  /** JSON: keys whose head has ended, each { kind, key }; null: none. */
  readonly keys: string | null
  /** How many heads were looked at, and the last of them. */
  readonly looked_at: number
  readonly last_kind: string | null
  readonly last_key: string | null
}

// Heads that ended without whoever ended them giving the turn: it died in between, or it was a cancel, an
// expiry, a recovery. A slice of them at a time, so that many keys under way cost a look nothing more.
export const endedHeads: Statement<
  { after_kind: string; after_key: string; most: number },
  EndedHeadsRow
> = statement(
  'ended_heads',
  `
with slice as materialized (
  select h.kind, h.key, h.job_id
  from millrace.outbox_heads h
  where (h.kind, h.key) > ($after_kind::text, $after_key::text)
  order by h.kind, h.key
  limit $most::int
),
latest as (
  select kind, key from slice order by kind desc, key desc limit 1
)
select
  (
    select json_agg(json_build_object('kind', h.kind, 'key', h.key))::text
    from slice h
    where not ${HOLDS}
  ) as keys,
  (select count(*) from slice)::int4 as looked_at,
  (select kind from latest) as last_kind,
  (select key from latest) as last_key`,
)

// Dead and cancelled messages keep their place for a redrive, until their record is gone.
export const forgetMessages: Statement<
  { after: string; most: number },
  { looked_at: number; last: string | null }
> = statement(
  'forget_messages',
  `
with slice as materialized (
  select l.ctid as tid, l.position, l.job_id
  from millrace.outbox_line l
  where l.is_over and l.position > $after::text::bigint
  order by l.position
  limit $most::int
),
due as materialized (
  select l.ctid as tid
  from millrace.outbox_line l
  where l.ctid = any (array(
    select s.tid from slice s where (select true from millrace.jobs j where j.id = s.job_id limit 1) is null
  ))
  for update skip locked
),
gone as (
  delete from millrace.outbox_line
  where ctid = any (array(select tid from due))
)
select (select count(*) from slice)::int4 as looked_at, (select max(position) from slice)::text as last`,
)
