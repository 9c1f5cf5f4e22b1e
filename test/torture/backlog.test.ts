import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { backlog } from './backlog.ts'
import type { BacklogReport, BacklogVariant } from './backlog.ts'

const SIZES = { ready: 20_000, future: 20_000, finished: 20_000, unknown: 20_000 }
const STEPS = 60
const SLOTS = 10

let measured: Promise<BacklogReport> | undefined

/** Measured once for all the tests. */
function report(): Promise<BacklogReport> {
  measured ??= measure()
  return measured
}

async function measure(): Promise<BacklogReport> {
  await using database = await freshDatabase()
  // Awaited here: the database goes with this function.
  return await backlog(database.url, { ...SIZES, steps: STEPS, slots: SLOTS, say: () => undefined })
}

async function variants(fairness: BacklogVariant['fairness']): Promise<readonly BacklogVariant[]> {
  return (await report()).variants.filter((variant) => variant.fairness === fairness)
}

// First walks and looks behind the marks go over what is in front, some times; a claim never does. The
// unknown jobs of one level, a quarter of them, in each of sixty claims would be all of them 15 times.
function assertNoWalks({ full, small }: BacklogVariant): void {
  expect(full.rows).toBe(STEPS * SLOTS)
  expect(small.rows).toBe(STEPS * SLOTS)
  expect(full.entries - small.entries).toBeLessThan(8 * SIZES.unknown)
}

test('replays 25: a claim does not walk over future jobs, finished ones and those of unknown kinds', async () => {
  const strict = await variants('strict')
  expect(strict.map(({ statistics }) => statistics)).toEqual(['stale', 'fresh', 'missing'])
  for (const variant of strict) assertNoWalks(variant)
}, 120_000)

test('replays 25: nor does it where levels take turns', async () => {
  for (const variant of await variants('rotate')) assertNoWalks(variant)
}, 120_000)

test('replays 25: there is a gate for each way to claim and each state of the statistics', async () => {
  const { gates } = await report()
  expect(gates).toHaveLength(6)
  for (const { ratio } of gates) expect(ratio).toBeGreaterThan(0)
}, 120_000)
