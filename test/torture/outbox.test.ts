import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { stormOutbox } from './outbox.ts'

test('B1: in a short storm of senders and killed workers each key is delivered in the order of its commits, one at a time, nothing lost', async () => {
  await using database = await freshDatabase()
  const report = await stormOutbox(database.url, {
    forMs: 5_000,
    seed: 5,
    senders: 8,
    keys: 20,
    workers: 4,
    killWithin: 2_500,
  })
  expect(report.violations).toEqual([])
  expect(report.committed).toBeGreaterThan(100)
  expect(report.ordered).toBeGreaterThan(100)
  expect(report.delivered + report.dead).toBe(report.committed)
  expect(report.kills).toBeGreaterThan(0)
}, 180_000)
