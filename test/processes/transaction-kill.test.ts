import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { killTransactions } from '../torture/transaction-kills.ts'

test('O4: of processes killed between an effect and its commit each effect is there exactly once', async () => {
  await using database = await freshDatabase()
  const report = await killTransactions(database.url, { kills: 20, seed: 1, workers: 2 })
  expect(report.violations).toEqual([])
  expect(report.kills).toBeGreaterThanOrEqual(20)
  expect(report.inBetween).toBeGreaterThan(0)
  expect(report.recovered).toBeGreaterThan(0)
  expect(report).toMatchObject({ completed: report.jobs, effects: report.jobs })
}, 180_000)
