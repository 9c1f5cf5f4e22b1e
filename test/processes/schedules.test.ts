import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { scheduleDay } from '../torture/schedule-day.ts'

test('S2, races 31: through half a virtual hour of workers that are killed each boundary is fired exactly once', async () => {
  await using database = await freshDatabase()
  const options = { seed: 1, hours: 0.5, processes: 3, workers: 2, kills: 4 }
  const report = await scheduleDay(database.url, options)
  expect(report.violations).toEqual([])
  expect(report).toMatchObject({ plain: 360, keyed: 6, fired: 361, merged: 5 })
  expect(report.kills).toBeGreaterThan(2)
}, 180_000)
