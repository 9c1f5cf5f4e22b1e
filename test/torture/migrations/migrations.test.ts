import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { builtVersion, earlierVersions, NO_HISTORY, thisVersion } from './earlier-version.ts'
import { migrateProcess } from './migrate-process.ts'
import { openedBy, remove, withDemandingMigration } from './refusal.ts'
import { versionOf } from './stalls.ts'
import { underFire } from './under-fire.ts'

const [oldest] = earlierVersions()
const LEASE_MS = 2_000

test('G1, replays 31: migrated under the load of an earlier version, killed inside each step, nothing fails, is lost or doubled', async ({
  skip,
}) => {
  if (oldest === undefined) return skip(NO_HISTORY)
  await using database = await freshDatabase()
  const to = thisVersion()
  const load = { seed: 1, workers: 2, perSecond: 300, leaseMs: LEASE_MS, jobs: 200 }
  const report = await underFire(database.url, { ...load, from: oldest, to })

  expect(report.said).toEqual([])
  expect(report.deadlocks).toBe(0)
  expect(report.violations).toEqual([])
  expect(await versionOf(database.url)).toBe(to.newest)
  const steps = Array.from({ length: to.newest - oldest.newest }, (_, index) => index + 1)
  expect(report.killedInside).toEqual(steps.map((step) => oldest.newest + step))
  expect(report.atOnce.map((end) => end.slice(0, 2))).toEqual(['0:', '0:'])
  expect(report.atOnce.filter((end) => end === '0: nothing to do')).toHaveLength(1)
  expect(report.endedMeanwhile).toBeGreaterThan(0)
}, 120_000)

test('G2, replays 31: an earlier version goes on with tables of this one, and refuses those that a later one says it cannot work with', async ({
  skip,
}) => {
  if (oldest === undefined) return skip(NO_HISTORY)
  await using database = await freshDatabase()
  const { folder, newest } = thisVersion()
  const later = withDemandingMigration(folder, newest)
  try {
    await migrateProcess(folder, database.url).ended
    expect(openedBy(builtVersion(oldest), database.url)).toEqual(['opened'])
    await migrateProcess(later, database.url).ended
    expect(await versionOf(database.url)).toBe(newest + 1)
    expect(openedBy(builtVersion(oldest), database.url)).toEqual(['NOT_MIGRATED', 'ahead'])
    expect(openedBy(folder, database.url)).toEqual(['NOT_MIGRATED', 'ahead'])
    expect(openedBy(later, database.url)).toEqual(['opened'])
  } finally {
    remove(later)
  }
}, 60_000)
