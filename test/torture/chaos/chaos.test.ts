import { expect, test } from 'vitest'
import { chaos } from './chaos.ts'
import { recoveriesOf } from './recovery.ts'

test('L3, T5, K1, S2, B1: in a short chaos of processes, networks and the server nothing is lost, doubled or stuck', async () => {
  const report = await chaos({
    seed: 20,
    forMs: 12_000,
    workers: 2,
    producers: 1,
    everyMs: 60,
    isShort: true,
  })
  expect(report.violations).toEqual([])
  expect(report.strikes.length).toBeGreaterThan(5)
  expect(recoveriesOf(report.strikes, report.facts).some(({ met }) => met.count > 0)).toBe(true)
  expect(report.jobs.length).toBeGreaterThan(100)
}, 240_000)
