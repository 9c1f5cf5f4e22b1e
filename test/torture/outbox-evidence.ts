import { runSql } from '../support/sql.ts'

/** What a storm over an outbox left behind. */
export interface OutboxEvidence {
  readonly committed: number
  readonly delivered: number
  readonly dead: number
  /** Deliveries that were begun again: after a failure, or because their process was killed. */
  readonly again: number
  /** Pairs of messages of a key of which one was committed before the other's commit began. */
  readonly ordered: number
  readonly violations: readonly string[]
}

// The first end of each message, or its death; and which of two must come first.
const FIRSTS = `
  with ended as (
    select d.key, d.id, min(d.n) as n from deliveries d where d.what in ('ends', 'dies') group by 1, 2
  ),
  sent as (
    select c.*, e.n as ended from committed c left join ended e on e.id = c.id
  ),
  pairs as (
    select one.key, one.id as first, other.id as second, one.ended as first_ended, other.ended as second_ended
    from sent one
    join sent other on other.key = one.key
      and ((one.xid <> other.xid and pg_visible_in_snapshot(one.xid, other.snapshot)) or (one.xid = other.xid and one.n < other.n))
  )`

const VIOLATIONS: readonly (readonly [what: string, query: string])[] = [
  ['committed and not delivered', `${FIRSTS} select key, id from sent where ended is null`],
  [
    'delivered and never committed',
    'select distinct key, id from deliveries where id not in (select id from committed)',
  ],
  [
    'delivered before one committed earlier',
    `${FIRSTS} select * from pairs where first_ended > second_ended`,
  ],
  [
    'begun while another of its key was under way',
    `select * from (
       select *, lag(id) over w as last_id, lag(what) over w as last_what from deliveries window w as (partition by key order by n)
     ) d
     where id <> last_id and (last_what not in ('ends', 'dies') or what <> 'begins')`,
  ],
  [
    'begun again after another of its key was',
    `select key, id from (
       select *, lag(id) over (partition by key order by n) is distinct from id as is_change from deliveries
     ) d
     where is_change group by 1, 2 having count(*) > 1`,
  ],
  ['left in the line', 'select job_id, key from millrace.outbox_line where not is_over'],
  ['left with a turn', 'select key, job_id from millrace.outbox_heads'],
  ['left in the inbox', 'select job_id from millrace.outbox_inbox'],
  [
    'in a place that it should not be in',
    `select id, state from millrace.all_jobs where state not in ('completed', 'dead')`,
  ],
]

export async function evidenceOf(url: string): Promise<OutboxEvidence> {
  const violations: string[] = []
  for (const [what, query] of VIOLATIONS) {
    const rows = await runSql(url, query)
    violations.push(...rows.map((row) => `${what}: ${JSON.stringify(row)}`))
  }
  const [counts] = await runSql(
    url,
    `${FIRSTS}
     select
       (select count(*) from committed)::int as committed,
       (select count(distinct id) from deliveries where what = 'ends')::int as delivered,
       (select count(distinct id) from deliveries where what = 'dies')::int as dead,
       (select count(*) from deliveries where what = 'begins')::int as begun,
       (select count(*) from pairs)::int as ordered`,
  )
  const count = (name: string): number => Number(counts?.[name])
  return {
    committed: count('committed'),
    delivered: count('delivered'),
    dead: count('dead'),
    again: count('begun') - count('delivered') - count('dead'),
    ordered: count('ordered'),
    violations,
  }
}

export function outboxText(evidence: OutboxEvidence & { readonly kills: number }): string {
  const { committed, delivered, dead, again, ordered, kills, violations } = evidence
  const head = `${committed} messages were committed and ${delivered + dead} ended (${dead} dead), ${again} deliveries were begun again, ${kills} workers were killed; ${ordered} pairs had an order`
  return [head, ...violations.map((each) => `VIOLATION ${each}`)].join('\n')
}
