import { runSql } from '../support/sql.ts'

/** What a storm over streams left behind. */
export interface StreamEvidence {
  readonly committed: number
  readonly events: number
  /** Times that a consumer saw an event that it had seen: only where each is handled at least once. */
  readonly repeated: number
  readonly violations: readonly string[]
}

const VIOLATIONS: readonly (readonly [what: string, query: string])[] = [
  [
    'committed and without an offset',
    `select stream, id from committed except select stream, id from millrace.events`,
  ],
  [
    'with an offset and never committed, or twice',
    `select stream, id from millrace.events except all select stream, id from committed`,
  ],
  [
    'offsets with a gap',
    `select stream, max(event_offset), count(*) from millrace.events group by stream
     having max(event_offset) <> count(*) or min(event_offset) <> 1`,
  ],
  ['left in the inbox', 'select stream, place from millrace.event_inbox'],
  [
    'seen and not the event of that offset',
    `select s.consumer, s.stream, s.event_offset from seen s
     left join millrace.events e on e.stream = s.stream and e.event_offset = s.event_offset
     where e.id is distinct from s.id`,
  ],
  [
    'out of order: behind one that was not seen yet',
    `select consumer, stream, event_offset from (
       select *, max(event_offset) over (partition by consumer, stream order by n rows between unbounded preceding and 1 preceding) as before
       from seen
     ) s
     where event_offset > coalesce(before, 0) + 1`,
  ],
  [
    'seen twice by a consumer whose effects are in the transaction',
    `select consumer, stream, event_offset from seen where consumer in ('totals', 'search', 'twin')
     group by 1, 2, 3 having count(*) > 1`,
  ],
]

export async function evidenceOf(
  url: string,
  consumers: readonly string[],
): Promise<StreamEvidence> {
  const violations: string[] = []
  for (const [what, query] of VIOLATIONS) {
    const rows = await runSql(url, query)
    violations.push(...rows.map((row) => `${what}: ${JSON.stringify(row)}`))
  }
  for (const consumer of consumers) {
    const missing = await runSql(
      url,
      `select stream, event_offset from millrace.events
       except select stream, event_offset from seen where consumer = $1`,
      [consumer],
    )
    violations.push(...missing.map((row) => `${consumer} missed ${JSON.stringify(row)}`))
  }
  const [counts] = await runSql(
    url,
    `select
       (select count(*)::int from committed) as committed,
       (select count(*)::int from millrace.events) as events,
       (select count(*) - count(distinct (consumer, stream, event_offset)) from seen)::int as repeated`,
  )
  return {
    committed: Number(counts?.['committed']),
    events: Number(counts?.['events']),
    repeated: Number(counts?.['repeated']),
    violations,
  }
}

export interface StormCounts extends StreamEvidence {
  readonly kills: number
  readonly naiveLost: number
  readonly naiveOf: number
}

/** Counts for people. */
export function stormText(report: StormCounts): string {
  const { committed, events, repeated, kills, naiveLost, naiveOf, violations } = report
  const share = ((100 * naiveLost) / Math.max(1, naiveOf)).toFixed(1)
  return [
    `committed       ${committed} events in two streams, ${events} have their offset`,
    `kills           ${kills} consumer processes`,
    `repeated        ${repeated} by consumers that handle at least once`,
    `serial column   a reader by "greater than the last" lost ${naiveLost} of ${naiveOf} (${share} %)`,
    `violations      ${violations.length}`,
    ...violations.slice(0, 20).map((violation) => `  ${violation}`),
  ].join('\n')
}
