import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { snapshot } from './snapshot.ts'

test('replays 26: beside a held snapshot the dead pile up, every job asked for is done, and nothing is left', async () => {
  await using database = await freshDatabase()
  const said: string[] = []
  const options = { baselineMs: 1_000, heldMs: 3_000, everyMs: 500, releaseMs: 30_000 }
  const load = { rate: 1_000, share: 1, mostMs: 500, concurrency: 50 }
  const { held, control, goneAfterMs, gates } = await snapshot(
    { held: database.url, control: null },
    { ...options, ...load, say: (line) => said.push(line) },
  )
  expect(control).toBeNull()
  expect([held.before.length, held.beside.length]).toEqual([2, 6])
  for (const line of [...held.before, ...held.beside]) {
    expect(line.perSecond).toBeGreaterThan(0)
    expect(line.claims.count).toBeGreaterThan(0)
    expect(line.starts.p99).toBeGreaterThanOrEqual(line.starts.p50)
  }
  expect(held.beside.at(-1)?.deadReady).toBeGreaterThan(0)
  expect(goneAfterMs).not.toBeNull()
  expect(gates.map(({ limit }) => limit)).toEqual([0.9, 0.9, 1.5, 1.5, 1])
  expect(said.filter((line) => line.startsWith('held '))).toHaveLength(6)
}, 120_000)
