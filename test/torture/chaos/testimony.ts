import { runSql } from '../../support/sql.ts'
import { violationsOf } from '../check.ts'
import { jobsOf, recordsOf } from '../evidence.ts'
import type { Interruption, RunRecord, TortureJob } from '../evidence.ts'
import type { Fact } from '../history/fact.ts'
import { faultsOf } from '../history/faults.ts'
import { readFacts } from '../history/log.ts'
import { committedOrders, effectFacts } from '../orders.ts'
import { evidenceOf as outboxEvidence } from '../outbox-evidence.ts'
import { evidenceOf as streamEvidence } from '../stream-evidence.ts'
import { FAILURE_LIMIT } from '../task.ts'
import { asksOf, executionsOf, tableFacts } from '../testimony.ts'
import { FOLLOWERS } from './consumers.ts'
import type { Strike } from './crew.ts'
import { invariantFaults } from './invariants.ts'
import { lateRecoveries } from './recovery.ts'

/** What was told and found when the chaos is over, and all that is wrong with it. */
export interface ChaosEvidence {
  readonly facts: readonly Fact[]
  readonly jobs: readonly TortureJob[]
  readonly records: readonly RunRecord[]
  readonly events: number
  readonly messages: number
  /** Tasks that reached their limit because their transactions found no database. */
  readonly starved: number
  readonly violations: readonly string[]
}

export async function chaosEvidence(
  url: string,
  logs: readonly string[],
  strikes: readonly Strike[],
): Promise<ChaosEvidence> {
  const told = logs.flatMap(readFacts)
  const [jobs, records] = [await jobsOf(url), await recordsOf(url)]
  const facts = [
    ...told,
    ...strikes.map(factOf),
    ...tableFacts(jobs, records),
    ...(await effectFacts(url)),
    ...(await fireFacts(url)),
    ...(await waitedFacts(url)),
  ]
  const starved = await starvedTasks(url)
  const stream = await streamEvidence(url, FOLLOWERS)
  const outbox = await outboxEvidence(await inPost(url))
  return {
    facts,
    jobs,
    records,
    events: stream.events,
    messages: outbox.committed,
    starved: starved.size,
    violations: [
      ...faultsOf(facts),
      ...(await taskFaults(url, { jobs, records, told, strikes, starved })),
      ...(await invariantFaults(url, facts)),
      ...lateRecoveries(strikes, facts),
      ...stream.violations,
      ...outbox.violations.filter((each) => !each.startsWith(OTHER_JOBS)),
    ],
  }
}

// Of its own storm, where there are no other jobs than messages.
const OTHER_JOBS = 'in a place that it should not be in'

function factOf({ how, target, from, to }: Strike): Fact {
  // What is killed is never itself again.
  const strike = { how, target, from, to: how === 'kill' ? null : to }
  return { at: from, process: 'harness', what: 'struck', ...strike }
}

/** The tables of the outbox's witnesses are in a schema of their own. */
async function inPost(url: string): Promise<string> {
  const post = new URL(url)
  post.searchParams.set('options', '-c search_path=post')
  return post.href
}

async function waitedFacts(url: string): Promise<readonly Fact[]> {
  const rows = await runSql(url, 'select job_id from millrace.finished where started_at is null')
  const told = { process: 'tables', at: 0, what: 'ended-waiting' } as const
  return rows.map(({ job_id: job }) => ({ ...told, job: String(job) }))
}

/** Every second, and every third, from the first that was fired to the last. */
async function fireFacts(url: string): Promise<readonly Fact[]> {
  const rows = await runSql(
    url,
    `select schedule, extract(epoch from boundary)::float8 * 1000 as boundary
     from millrace.jobs where schedule is not null order by boundary`,
  )
  const told = { process: 'tables', at: 0 }
  const fired = rows.map(({ schedule, boundary }) => {
    const own = { schedule: String(schedule), boundary: Number(boundary) }
    return { ...told, what: 'fired', ...own } as const
  })
  const due = [...STEPS].flatMap(([schedule, step]) => {
    const own = fired.filter((each) => each.schedule === schedule)
    const [first, last] = [own[0]?.boundary ?? 0, own.at(-1)?.boundary ?? -1]
    const count = Math.floor((last - first) / step) + 1
    return Array.from({ length: count }, (_, index) => {
      return { ...told, what: 'due', schedule, boundary: first + index * step } as const
    })
  })
  return [...fired, ...due]
}

const STEPS: ReadonlyMap<string, number> = new Map([
  ['each second', 1_000],
  ['each third', 3_000],
])

interface OfTasks {
  readonly jobs: readonly TortureJob[]
  readonly records: readonly RunRecord[]
  readonly told: readonly Fact[]
  readonly strikes: readonly Strike[]
  readonly starved: ReadonlySet<string>
}

// With a limit of six failures and a backoff of moments they may end like this, whatever they plan.
async function starvedTasks(url: string): Promise<ReadonlySet<string>> {
  const rows = await runSql(
    url,
    `select job_id from millrace.finished where kind = 'torture' and error ->> 'code' = 'DATABASE'`,
  )
  return new Set(rows.map(({ job_id: job }) => String(job)))
}

/** The rules of the checker by tables, for the kind of jobs that it knows: each says how it must end. */
async function taskFaults(url: string, all: OfTasks): Promise<readonly string[]> {
  const jobs = all.jobs
    .filter(({ ends }) => ENDS.has(ends))
    .map((job) => (all.starved.has(job.id) ? { ...job, ends: 'failed' as const } : job))
  const tasks = new Set(jobs.map(({ id }) => id))
  const numbers = new Set(jobs.map(({ number }) => number))
  const orders = await committedOrders(url)
  return violationsOf({
    jobs,
    records: all.records.filter(({ job }) => tasks.has(job)),
    executions: executionsOf(all.told).filter(({ job }) => tasks.has(job)),
    asks: asksOf(all.told, orders).filter(({ number, id }) => {
      return numbers.has(number) || (id === null ? orders.has(number) : tasks.has(id))
    }),
    interruptions: all.strikes.flatMap(interruptionsOf),
    failureLimit: FAILURE_LIMIT,
  })
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'gave-up', 'failed'])

// Of what happens to a network or a server leases may be lost, which a worker is told all the same.
const LINGERS = 10_000

/** Producers work, too: who is killed may have had asks under way, and jobs. */
function interruptionsOf({ how, target: worker, from, to }: Strike): readonly Interruption[] {
  if (how === 'kill') {
    return [
      { what: 'kill', worker, from, to: Number.POSITIVE_INFINITY },
      { what: 'kill-producer', worker, from, to },
    ]
  }
  if (how === 'freeze') return [{ what: 'freeze', worker, from, to }]
  return [{ what: 'crash', worker, from, to: to + LINGERS }]
}
