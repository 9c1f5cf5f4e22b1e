import type { Client } from 'pg'
import { jobsOf } from './lifecycle-model.ts'
import type { Job, Model } from './lifecycle-model.ts'

/**
 * One line for each job, the same from the model and from the tables: where it stands and all that
 * decides what becomes of it. Instants are told from the beginning of the sequence.
 */
export type Picture = readonly string[]

export function pictureOf(model: Model, start: number): Picture {
  return jobsOf(model).map((job) => lineOf(rowOf(job), start))
}

export async function pictureIn(sql: Client, start: number): Promise<Picture> {
  const { rows } = await sql.query<Row>({ name: 'picture', text: PICTURE })
  return rows.map((row) => lineOf(row, start))
}

/** What does not hold of the tables by themselves: the invariants of design.md §2. */
export async function violationsIn(sql: Client): Promise<readonly string[]> {
  const { rows } = await sql.query<{ violation: string }>({ name: 'invariants', text: INVARIANTS })
  return rows.map(({ violation }) => violation)
}

interface Row {
  readonly id: string
  readonly kind: string
  readonly key: string | null
  readonly state: string | null
  readonly queue: string
  readonly priority: number
  readonly lease_ms: number | null
  readonly run: number
  readonly failures: number
  readonly due: number | null
  readonly expires: number | null
  readonly reason: string | null
  readonly beside: boolean | null
  readonly worker: string | null
  readonly ends: number | null
  readonly cancelled: boolean | null
  readonly prune: number | null
  readonly v: number | null
  readonly carry: number | null
  readonly journal: string
}

function rowOf(job: Job): Row {
  const { place } = job
  return {
    id: job.id,
    kind: job.kind,
    key: job.key,
    state: place.state,
    queue: job.queue,
    priority: job.priority,
    lease_ms: 'prune' in place ? null : job.leaseMs,
    run: job.run,
    failures: job.failures,
    due: 'due' in place ? place.due : null,
    expires: 'expires' in place ? place.expires : null,
    reason: 'reason' in place ? place.reason : null,
    beside: 'isSibling' in place ? place.isSibling : null,
    worker: 'worker' in place ? place.worker : null,
    ends: 'ends' in place ? place.ends : null,
    cancelled: 'isCancelled' in place ? place.isCancelled : null,
    prune: 'prune' in place ? place.prune : null,
    v: job.v,
    carry: job.carry,
    journal: job.journal.join(', '),
  }
}

function lineOf(row: Row, start: number): string {
  const since = (instant: number | null): string => (instant === null ? '-' : `+${instant - start}`)
  const words = [
    `${row.id} ${row.kind} ${row.key ?? '-'} v=${row.v} carry=${row.carry ?? '-'}: ${row.state}`,
    `in ${row.queue}/${row.priority} lease ${row.lease_ms ?? '-'}`,
    `run ${row.run} failures ${row.failures}`,
    `due ${since(row.due)} expires ${since(row.expires)}`,
    `reason ${row.reason ?? '-'} beside ${row.beside ?? '-'}`,
    `worker ${row.worker ?? '-'} ends ${since(row.ends)} cancelled ${row.cancelled ?? '-'}`,
    `prune ${since(row.prune)} [${row.journal}]`,
  ]
  return words.join(' · ')
}

const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`

// A job in two places has two lines, a place without a body a line of its own.
const PICTURE = `
select
  coalesce(j.id, p.job_id) as id, j.kind, j.dedup_key as key, p.state, p.queue,
  coalesce(p.priority, j.priority)::int as priority, p.lease_ms::float8 as lease_ms, p.run, p.failures,
  ${ms('p.due_at')} as due, ${ms('p.expires_at')} as expires, p.reason, p.beside, p.worker,
  ${ms('p.lease_ends_at')} as ends, p.cancelled, ${ms('p.prune_at')} as prune,
  (j.payload ->> 'v')::float8 as v, (c.carry ->> 'n')::float8 as carry,
  coalesce((
    select string_agg(
      e.outcome || ' ' || e.run || '/' || e.failures || coalesce(' ' || e.decision || ' ' || e.asked_id, ''),
      ', ' order by e.id
    )
    from journal e
    where e.job_id = j.id
  ), '') as journal
from jobs j
full join (
  select
    job_id, 'pending' as state, queue, priority, lease_ms, run, failures, due_at, expires_at, reason,
    sibling <> '' as beside, null as worker, null::timestamptz as lease_ends_at, null::boolean as cancelled,
    null::timestamptz as prune_at
  from ready
  union all
  select
    job_id, 'running', queue, priority, lease_ms, run, failures, due_at, expires_at, null, null, worker,
    lease_ends_at, cancel_requested_at is not null, null
  from leases
  union all
  select
    job_id, state, queue, null, null, run, failures, null, null, reason, null, null, null, null, prune_at
  from finished
) p on p.job_id = j.id
left join carries c on c.job_id = j.id
order by 1`

const INVARIANTS = `
with place as (
  select job_id, run, 0 as open, kind, dedup_key, sibling from ready
  union all select job_id, run, 1, kind, dedup_key, null from leases
  union all select job_id, run, 0, kind, null, null from finished
),
recorded as (
  select job_id, array_agg(run order by run) as runs
  from timeline
  where started_at is not null
  group by job_id
)
select coalesce(j.id, p.job_id) || ' stands in ' || count(p.job_id) || ' places' as violation
from jobs j
full join place p on p.job_id = j.id
group by j.id, p.job_id
having count(p.job_id) <> 1
union all
select p.job_id || ' has no body'
from place p
where not exists (select from jobs j where j.id = p.job_id)
union all
select p.job_id || ' began ' || p.run || ' runs, recorded are ' || coalesce(r.runs, '{}')::text
from place p
left join recorded r using (job_id)
where coalesce(r.runs, '{}') <> array(select generate_series(1, p.run - p.open))
union all
select 'the journal holds ' || e.job_id || ', which is gone'
from journal e
where not exists (select from jobs j where j.id = e.job_id)
union all
select 'a carry of ' || c.job_id || ', which is gone'
from carries c
where not exists (select from jobs j where j.id = c.job_id)
union all
select kind || ' ' || dedup_key || ' has ' || count(*) || ' live jobs that take asks'
from place
where dedup_key is not null and sibling = ''
group by kind, dedup_key
having count(*) > 1`
