import { expect, test } from 'vitest'
import { jobsPerSecond, percentile, sizesOf } from '../../../src/cli/bench/figures.ts'

const phase = { name: 'bulk', title: 'enqueue, in bulk', jobs: 500, nodeMs: 10 } as const

test('jobs a second, also of a phase too short for a clock', () => {
  expect(jobsPerSecond({ ...phase, elapsedMs: 250 })).toBe(2_000)
  expect(Number.isFinite(jobsPerSecond({ ...phase, elapsedMs: 0 }))).toBe(true)
})

test('a percentile is one of the values, whatever their order', () => {
  const values = [5, 1, 4, 2, 3]
  expect(percentile(values, 0.5)).toBe(3)
  expect(percentile(values, 0.99)).toBe(5)
  expect(percentile(values, 0)).toBe(1)
  expect(percentile([], 0.5)).toBe(0)
})

test.each<readonly [jobs: number, sizes: ReturnType<typeof sizesOf>]>([
  [1, { oneByOne: 1, callers: 1, bulk: 1, latency: 1 }],
  [20_000, { oneByOne: 500, callers: 10_000, bulk: 20_000, latency: 100 }],
  [1_000_000, { oneByOne: 500, callers: 10_000, bulk: 1_000_000, latency: 100 }],
])('of %d jobs each phase takes its part', (jobs, sizes) => {
  expect(sizesOf(jobs)).toEqual(sizes)
})
