import { runSql } from '../../support/sql.ts'
import type { Fact } from '../history/fact.ts'
import { historyOf } from '../history/history.ts'

/**
 * What must hold in the tables at the end, and no log of a process can say: nothing waits any more,
 * each kind of job did what it is for, and each ask of a key was done once.
 */
const QUERIES: readonly (readonly [what: string, query: string])[] = [
  [
    'not drained',
    `select id, kind, state from millrace.all_jobs where state in ('pending', 'running') limit 20`,
  ],
  [
    'a place without a body',
    `select p.job_id from (
       select job_id from millrace.ready union all select job_id from millrace.leases
       union all select job_id from millrace.finished
     ) p left join millrace.jobs j on j.id = p.job_id where j.id is null`,
  ],
  [
    'paused not once for each page',
    `select f.job_id, j.payload::text from millrace.finished f join millrace.jobs j on j.id = f.job_id
     where f.kind = 'paged' and (f.state <> 'completed' or (j.payload ->> 'pages')::int <>
       (select count(*) from millrace.timeline t where t.job_id = f.job_id and t.outcome = 'paused'))`,
  ],
  [
    'follow-ups that are not those of a completed run',
    `select f.job_id, f.state, j.payload::text,
       (select count(*) from millrace.jobs c where c.kind = 'child' and c.payload ->> 'parent' = f.job_id) as born
     from millrace.finished f join millrace.jobs j on j.id = f.job_id
     where f.kind = 'parent' and (f.state <> 'completed' or (j.payload ->> 'children')::int <>
       (select count(*) from millrace.jobs c where c.kind = 'child' and c.payload ->> 'parent' = f.job_id))`,
  ],
  [
    'a follow-up without its parent',
    `select c.id from millrace.jobs c left join millrace.finished f on f.job_id = c.payload ->> 'parent'
     where c.kind = 'child' and f.job_id is null`,
  ],
  [
    'expired before its time',
    `select f.job_id from millrace.finished f join millrace.jobs j on j.id = f.job_id
     where f.kind = 'timely' and f.reason = 'expired'
       and extract(epoch from f.finished_at) * 1000 < (j.payload ->> 'expiresAt')::float8 - 250`,
  ],
  [
    'an end that is not its own',
    `select job_id, kind, state, reason from millrace.finished
     where kind in ('gathered', 'child', 'narrow', 'single', 'tick', 'mails') and state <> 'completed'
       or kind = 'doomed' and state not in ('completed', 'cancelled')
       or kind = 'timely' and state <> 'completed' and reason is distinct from 'expired'`,
  ],
  [
    'a carry that was left',
    `select c.job_id from millrace.carries c left join millrace.jobs j on j.id = c.job_id where j.id is null`,
  ],
]

export async function invariantFaults(url: string, facts: readonly Fact[]): Promise<string[]> {
  const faults: string[] = []
  for (const [what, query] of QUERIES) {
    const rows = await runSql(url, query)
    faults.push(...rows.map((row) => `${what}: ${JSON.stringify(row)}`))
  }
  return [...faults, ...(await gatheredFaults(url, facts))]
}

/** Each ask that was answered is done by one completed run, and any other by one at most. */
async function gatheredFaults(url: string, facts: readonly Fact[]): Promise<readonly string[]> {
  const kinds = await runSql(url, `select id from millrace.jobs where kind = 'gathered'`)
  const gathered = new Set(kinds.map(({ id }) => String(id)))
  const rows = await runSql(url, 'select ask, count(*)::int as times from asks_done group by ask')
  const done = new Map(rows.map(({ ask, times }) => [Number(ask), Number(times)]))
  const asked = historyOf(facts, 0)
    .of('enqueued')
    .filter(({ job }) => gathered.has(job))
  const missing = asked.filter(({ ask }) => !done.has(ask))
  const doubled = [...done].filter(([, times]) => times > 1)
  return [
    ...missing.map(({ ask, job }) => `ask ${ask} was folded into ${job}, and nothing did it`),
    ...doubled.map(([ask, times]) => `ask ${ask} was done ${times} times`),
  ]
}
