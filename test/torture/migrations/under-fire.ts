import { runSql } from '../../support/sql.ts'
import { until } from '../../support/until.ts'
import { violationsOf } from '../check.ts'
import type { Testimony } from '../evidence.ts'
import { faultsOf } from '../history/faults.ts'
import { createOrders } from '../orders.ts'
import { processesOn } from '../processes.ts'
import type { Processes } from '../processes.ts'
import type { TortureProcess } from '../process.ts'
import { builtVersion } from './earlier-version.ts'
import type { EarlierVersion } from './earlier-version.ts'
import { migrateProcess } from './migrate-process.ts'
import { openedBy } from './refusal.ts'
import { endStalls, stallSteps, untilInside, versionOf } from './stalls.ts'

export interface FireOptions {
  readonly from: EarlierVersion
  /** The folder of the version that migrates, and its newest migration. */
  readonly to: { readonly folder: string; readonly newest: number }
  readonly seed: number
  /** Worker processes of each version, and as many producers less one. */
  readonly workers: number
  /** Jobs a second of each producer. */
  readonly perSecond: number
  readonly leaseMs: number
  /** Jobs ended before the migration, and at least as many by each version beside the other. */
  readonly jobs: number
}

export interface FireReport {
  /** The steps inside which the process that migrated was killed. */
  readonly killedInside: readonly number[]
  /** What each of those that migrated at once, in the end, said. */
  readonly atOnce: readonly string[]
  /** Jobs that ended while the steps were at work. */
  readonly endedMeanwhile: number
  /** Jobs that workers of either version ended after it. */
  readonly endedBeside: { readonly earlier: number; readonly newer: number }
  /** Warnings and errors of all workers and producers. */
  readonly said: readonly string[]
  readonly deadlocks: number
  readonly evidence: Testimony
  readonly violations: readonly string[]
}

/**
 * Migrates from an earlier version while workers and producers of it are at work: killed inside each
 * step, begun again, and then by two at once. Afterwards processes of both versions work side by side.
 */
export async function underFire(url: string, options: FireOptions): Promise<FireReport> {
  const earlier = builtVersion(options.from)
  await migrateFirst(url, earlier, options.from.newest)
  await createOrders(url)
  const all = processesOn(url, CONCURRENCY)
  try {
    const before = await startCrew(all, { ...options, folder: earlier, first: 0 })
    await untilEnded(url, before.workers, options.jobs)
    const begun = await endedBy(url)
    await stallSteps(url, STALL)
    const killedInside = await killInsideEachStep(url, options)
    const atOnce = await migrateAtOnce(url, options)
    await endStalls(url)
    const endedMeanwhile = (await endedBy(url)) - begun

    const after = await startCrew(all, { ...options, folder: options.to.folder, first: FAR })
    const endedBeside = await besideEachOther(url, [before, after], options.jobs)
    for (const producer of [...before.producers, ...after.producers]) await producer.terminate()
    await all.untilDrained(DRAIN_WITHIN)
    const [said, deadlocks, evidence] = [all.said(), await deadlocksOf(url), await all.evidence()]
    const violations = [...violationsOf(evidence), ...faultsOf(evidence.facts)]
    const found = { said, deadlocks, evidence, violations }
    return { killedInside, atOnce, endedMeanwhile, endedBeside, ...found }
  } finally {
    await all.close()
  }
}

/** Whether a version works with the tables that it makes: a commit between two others may not. */
export async function isSound(url: string, version: EarlierVersion): Promise<boolean> {
  const folder = builtVersion(version)
  await migrateFirst(url, folder, version.newest)
  return openedBy(folder, url)[0] === 'opened'
}

const CONCURRENCY = 20
/** Seconds that each command of a step takes longer. */
const STALL = 0.05
const DRAIN_WITHIN = 180_000
/** The first number of the producers that come later. */
const FAR = 1_000_000_000

async function migrateFirst(url: string, folder: string, newest: number): Promise<void> {
  const { code, printed } = await migrateProcess(folder, url).ended
  if (code !== 0 || (await versionOf(url)) !== newest) {
    throw new Error(`the earlier version did not make its tables: ${printed}`)
  }
}

interface Crew {
  readonly workers: readonly TortureProcess[]
  readonly producers: readonly TortureProcess[]
}

async function startCrew(
  all: Processes,
  options: FireOptions & { readonly folder: string; readonly first: number },
): Promise<Crew> {
  const { folder, first, seed, perSecond, leaseMs } = options
  const workers = Array.from({ length: options.workers }, () => all.startWorker(folder))
  const producers = Array.from({ length: Math.max(1, options.workers - 1) }, (_, index) => {
    const numbers = { first: first + index * (FAR / 100), jobs: null }
    const settings = { seed: seed + first + index, ...numbers, perSecond, leaseMs }
    return all.startProducer({ ...settings, tasks: 'any' }, folder)
  })
  return { workers: await Promise.all(workers), producers: await Promise.all(producers) }
}

/** Answers the steps, by the number of their migration. */
async function killInsideEachStep(url: string, { from, to }: FireOptions): Promise<number[]> {
  const killed: number[] = []
  for (let version = from.newest; version < to.newest; version += 1) {
    const migrating = migrateProcess(to.folder, url)
    await untilInside(url, version)
    await migrating.kill()
    killed.push(version + 1)
  }
  return killed
}

async function migrateAtOnce(url: string, { to }: FireOptions): Promise<string[]> {
  const both = [migrateProcess(to.folder, url), migrateProcess(to.folder, url)]
  const ends = await Promise.all(both.map(({ ended }) => ended))
  return ends.map(({ code, printed }) => `${code}: ${printed.trim()}`)
}

/** How many jobs the workers of either version ended, from when both were there. */
async function besideEachOther(
  url: string,
  [earlier, newer]: readonly [Crew, Crew],
  jobs: number,
): Promise<FireReport['endedBeside']> {
  const before = await endedBy(url, earlier.workers)
  await untilEnded(url, newer.workers, jobs)
  await untilEnded(url, earlier.workers, before + jobs)
  return {
    earlier: (await endedBy(url, earlier.workers)) - before,
    newer: await endedBy(url, newer.workers),
  }
}

async function untilEnded(
  url: string,
  workers: readonly TortureProcess[],
  jobs: number,
): Promise<void> {
  await until(async () => (await endedBy(url, workers)) >= jobs, { ms: 120_000, every: 50 })
}

/** Jobs that these workers ended; without any, all of them. */
async function endedBy(url: string, workers?: readonly TortureProcess[]): Promise<number> {
  const names = workers?.map(({ name }) => name) ?? null
  const [row] = await runSql(
    url,
    `select count(*)::int as ended from millrace.finished
     where $1::text[] is null or worker = any ($1::text[])`,
    [names],
  )
  return Number(row?.['ended'])
}

async function deadlocksOf(url: string): Promise<number> {
  const [row] = await runSql(
    url,
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  return Number(row?.['deadlocks'])
}
