import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { stormStreams } from './streams.ts'

test('T2, T4, T5: in a short storm of publishers and killed consumers nothing is missed or doubled, which a reader of a serial column does', async () => {
  await using database = await freshDatabase()
  const storm = { forMs: 4_000, seed: 11, publishers: 10, killWithin: 3_000 }
  const report = await stormStreams(database.url, storm)
  expect(report.violations).toEqual([])
  expect(report.committed).toBeGreaterThan(50)
  expect(report.events).toBe(report.committed)
  expect(report.naiveLost).toBeGreaterThan(0)
}, 120_000)
