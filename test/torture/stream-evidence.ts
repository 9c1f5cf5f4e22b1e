import { runSql } from '../support/sql.ts'
import type { Fact } from './history/fact.ts'
import { faultsOf } from './history/faults.ts'

/** What a storm over streams left behind. */
export interface StreamEvidence {
  readonly committed: number
  readonly events: number
  /** Times that a consumer saw an event that it had seen: only where each is handled at least once. */
  readonly repeated: number
  readonly violations: readonly string[]
}

/** Who read the streams, and whether the effects are in the transaction of the offset. */
export interface Follower {
  readonly as: string
  readonly isOnce: boolean
}

const STREAMS = ['orders', 'audits']

export async function evidenceOf(
  url: string,
  followers: readonly Follower[],
): Promise<StreamEvidence> {
  const [committed, events, seen] = [
    await publishedFacts(url),
    await sequencedFacts(url),
    await seenFacts(url),
  ]
  const follows = followers.flatMap(({ as: consumer, isOnce }) =>
    STREAMS.map((stream): Fact => ({ ...HARNESS, what: 'follows', consumer, stream, isOnce })),
  )
  const offsets = new Set(seen.map((each) => JSON.stringify({ ...each, at: 0 })))
  return {
    committed: committed.length,
    events: events.length,
    repeated: seen.length - offsets.size,
    violations: faultsOf([...follows, ...committed, ...events, ...seen]),
  }
}

const HARNESS = { at: 0, process: 'harness' } as const

async function publishedFacts(url: string): Promise<readonly Fact[]> {
  const rows = await runSql(url, 'select stream, id from committed')
  return rows.map(({ stream, id }) => {
    return { ...HARNESS, what: 'published', stream: String(stream), event: String(id) }
  })
}

async function sequencedFacts(url: string): Promise<readonly Fact[]> {
  const rows = await runSql(url, 'select stream, id, event_offset from millrace.events')
  return rows.map(({ stream, id, event_offset: offset }) => {
    const own = { stream: String(stream), event: String(id), offset: Number(offset) }
    return { ...HARNESS, what: 'sequenced', ...own }
  })
}

/** In the order in which they were written: it stands in place of instants. */
async function seenFacts(url: string): Promise<readonly Fact[]> {
  const rows = await runSql(url, 'select * from seen')
  return rows.map(({ n, consumer, stream, event_offset: offset, id }) => {
    const own = { consumer: String(consumer), stream: String(stream), event: String(id) }
    return { at: Number(n), process: own.consumer, what: 'saw', ...own, offset: Number(offset) }
  })
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
