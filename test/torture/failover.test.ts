import { expect, test } from 'vitest'
import { failover } from './failover.ts'

test('a primary that is killed under load loses nothing acknowledged, and work goes on at its standby', async () => {
  const { blows, counts, violations } = await failover({
    seed: 6,
    kills: 1,
    betweenMs: 1_500,
    leaseMs: 1_500,
  })
  expect(violations).toEqual([])
  expect(blows).toHaveLength(1)
  for (const [part, ms] of Object.entries(blows[0]?.wentOn ?? {}))
    expect([part, ms < 5_000]).toEqual([part, true])
  // That the history is one of work, before and after.
  for (const what of ['enqueued', 'settled', 'effect', 'published', 'saw', 'took', 'fired']) {
    expect(counts[what]).toBeGreaterThan(3)
  }
}, 60_000)
