import { setTimeout as pause } from 'node:timers/promises'
import { migrations } from 'millrace'
import { startPair } from '../support/standby.ts'
import type { ServerPair } from '../support/standby.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { jobsOf, recordsOf } from './evidence.ts'
import { PULSE_MS, SCHEDULE, startLoad, STREAM } from './failover-load.ts'
import type { FailoverLoad } from './failover-load.ts'
import type { Fact } from './history/fact.ts'
import { faultsOf } from './history/faults.ts'
import { createOrders, effectFacts } from './orders.ts'
import { tableFacts } from './testimony.ts'

/**
 * A primary and a synchronous standby under load over a URL that names both; all processes of the
 * primary are killed at once, the standby is promoted, and the clients find it. What was acknowledged
 * must be there, and everything goes on: jobs, streams, locks, schedules. Again and again with the
 * roles changed.
 */
export interface FailoverOptions {
  readonly seed: number
  readonly kills: number
  /** Milliseconds of load before each kill and after the last. */
  readonly betweenMs: number
  readonly leaseMs: number
  /** Default false. Otherwise the primary is stopped, as a host that is gone without a word. */
  readonly isHung?: boolean | undefined
  /** Default true. Otherwise the negative control: what is acknowledged is lost. */
  readonly isSynchronous?: boolean | undefined
}

export interface FailoverReport {
  readonly blows: readonly Blow[]
  readonly counts: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

export interface Blow {
  /** From the kill until the new primary took writes. */
  readonly promotedMs: number
  /** From then until each part of the work went on. */
  readonly wentOn: Readonly<Record<string, number>>
}

const DRAIN_WITHIN = 120_000

export async function failover(options: FailoverOptions): Promise<FailoverReport> {
  await using pair = await startPair(options)
  await pair.primary.createDatabase('torture')
  await prepare(pair)
  const load = await startLoad(pair.url('torture'), options)
  const blows: Blow[] = []
  const strikes: Fact[] = []
  try {
    for (let kill = 1; kill <= options.kills; kill += 1) {
      if (kill > 1) await pair.rebuild()
      await pause(options.betweenMs)
      blows.push(await strike(pair, load, { strikes, isHung: options.isHung === true }))
    }
    await pause(options.betweenMs)
    await load.stopAsking()
    await untilCaughtUp(pair.primary.url('torture'))
  } finally {
    await load.close()
  }
  // Before the servers are closed.
  return await report({ pair, load, blows, strikes })
}

async function prepare(pair: ServerPair): Promise<void> {
  await using tables = migrations(pair.url('torture'))
  await tables.up()
  await createOrders(pair.primary.url('torture'))
  await runSql(
    pair.primary.url('torture'),
    `create table totals (n bigint generated always as identity, event_offset bigint, event text)`,
  )
}

async function strike(
  pair: ServerPair,
  load: FailoverLoad,
  { strikes, isHung }: { readonly strikes: Fact[]; readonly isHung: boolean },
): Promise<Blow> {
  const from = Date.now()
  await pair.failOver(isHung ? 'SIGSTOP' : 'SIGKILL')
  const promoted = Date.now()
  await until(() => Object.keys(load.wentOnAfter(promoted)).length === PARTS_OF_THE_WORK, {
    ms: 60_000,
  })
  // The clients are cut off until they have found it.
  const about = { what: 'struck', how: 'crash', target: null, from, to: Date.now() } as const
  strikes.push({ at: from, process: 'harness', ...about })
  return { promotedMs: promoted - from, wentOn: load.wentOnAfter(promoted) }
}

const PARTS_OF_THE_WORK = 5

/** No job waits or runs, each consumer has seen all there is, and the schedule is done with the past. */
async function untilCaughtUp(url: string): Promise<void> {
  await runSql(url, 'update millrace.schedules set paused_at = now()')
  await until(
    async () => {
      const [row] = await runSql(
        url,
        `select
           (select count(*) from millrace.ready) + (select count(*) from millrace.leases)
           + (select count(*) from millrace.event_inbox) as open,
           (select count(*) from millrace.consumers
            where coalesce(saved_offset, 0) < (select max(event_offset) from millrace.events)) as behind`,
      )
      return Number(row?.['open']) === 0 && Number(row?.['behind']) === 0
    },
    { ms: DRAIN_WITHIN, every: 100 },
  )
}

interface Ended {
  readonly pair: ServerPair
  readonly load: FailoverLoad
  readonly blows: readonly Blow[]
  readonly strikes: readonly Fact[]
}

async function report({ pair, load, blows, strikes }: Ended): Promise<FailoverReport> {
  const url = pair.primary.url('torture')
  const facts = [...load.facts, ...strikes, ...(await factsOf(url, load.facts))]
  const counts: Record<string, number> = {}
  for (const { what } of facts) counts[what] = (counts[what] ?? 0) + 1
  return { blows, counts, violations: faultsOf(facts) }
}

/** What the tables of the last primary tell. */
async function factsOf(url: string, told: readonly Fact[]): Promise<readonly Fact[]> {
  return [
    ...tableFacts(await jobsOf(url), await recordsOf(url)),
    ...(await effectFacts(url)),
    ...(await eventFacts(url, told)),
    ...(await fireFacts(url)),
  ]
}

async function eventFacts(url: string, told: readonly Fact[]): Promise<readonly Fact[]> {
  const fact = { at: Date.now(), process: 'tables' }
  const rows = await runSql(
    url,
    'select event_offset::int as offset, id from millrace.events order by event_offset',
  )
  const seen = await runSql(url, 'select event_offset::int as offset, event from totals order by n')
  const published = new Set(told.flatMap((each) => (each.what === 'published' ? [each.event] : [])))
  const about = { stream: STREAM }
  return [
    ...rows.flatMap(({ offset, id }): readonly Fact[] => {
      const event = String(id)
      const sequenced = {
        ...fact,
        what: 'sequenced',
        ...about,
        event,
        offset: Number(offset),
      } as const
      // Its publish failed, and it is there: nobody was told, and nobody may miss it.
      if (published.has(event)) return [sequenced]
      return [sequenced, { ...fact, what: 'published', ...about, event }]
    }),
    ...seen.map(({ offset, event }, position): Fact => {
      const saw = { what: 'saw', consumer: 'totals', ...about, event: String(event) } as const
      return { at: fact.at + position, process: 'tables', ...saw, offset: Number(offset) }
    }),
  ]
}

/** Every boundary from the first on, up to that which comes next. */
async function fireFacts(url: string): Promise<readonly Fact[]> {
  const fact = { at: Date.now(), process: 'tables', schedule: SCHEDULE } as const
  const rows = await runSql(
    url,
    `select (extract(epoch from boundary) * 1000)::float8 as boundary from millrace.jobs
     where schedule is not null order by boundary`,
  )
  const [next] = await runSql(
    url,
    'select (extract(epoch from next_fire_at) * 1000)::float8 as at from millrace.schedules',
  )
  const fired = rows.map(({ boundary }) => Number(boundary))
  const end = Number(next?.['at'])
  const due: number[] = []
  for (let each = fired[0] ?? end; each < end; each += PULSE_MS) due.push(each)
  return [
    ...due.map((boundary): Fact => ({ ...fact, what: 'due', boundary })),
    ...fired.map((boundary): Fact => ({ ...fact, what: 'fired', boundary })),
  ]
}

export function failoverText({ blows, counts, violations }: FailoverReport): string {
  const told = Object.entries(counts).map(([what, count]) => `${count} ${what}`)
  return [
    ...blows.map((blow, index) => blowText(index + 1, blow)),
    `history         ${told.join(', ')}`,
    `violations      ${violations.length}`,
    ...violations.slice(0, 20).map((each) => `  ${each}`),
  ].join('\n')
}

function blowText(kill: number, { promotedMs, wentOn }: Blow): string {
  const parts = Object.entries(wentOn).map(([part, ms]) => `${part} ${ms}`)
  return `kill ${kill}: writable again after ${promotedMs} ms; then, in ms: ${parts.join(', ')}`
}
