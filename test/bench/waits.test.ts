import { expect, test } from 'vitest'
import { waitsInSlices } from '../../bench/contest/waits.mjs'

/** Whole milliseconds from 1 up to this many. */
function upTo(most: number): readonly number[] {
  return Array.from({ length: most }, (_, index) => index + 1)
}

test('a quantile is within a per cent of what sorting all waits would give', () => {
  const waits = waitsInSlices(1)
  for (const ms of upTo(1_000)) waits.add(ms, 0)
  for (const [share, exact] of [
    [0.5, 500],
    [0.99, 990],
    [1, 1_000],
  ] as const) {
    expect(Math.abs((waits.at(share) ?? 0) / exact - 1)).toBeLessThan(0.0102)
  }
})

test('each slice has its own quantiles, and what lies outside belongs to the nearest', () => {
  const waits = waitsInSlices(2)
  waits.add(1, -3)
  waits.add(100, 7)
  expect(waits.at(0.5, 0)).toBeCloseTo(1, 1)
  expect((waits.at(0.5, 1) ?? 0) / 100).toBeCloseTo(1, 1)
})

test('no wait is no quantile, and no wait at all is the shortest', () => {
  const waits = waitsInSlices(1)
  expect(waits.at(0.5)).toBeNull()
  waits.add(0, 0)
  expect(waits.at(0.5)).toBeCloseTo(0.01)
})

test('a wait of hours is kept', () => {
  const waits = waitsInSlices(1)
  waits.add(3_600_000, 0)
  expect((waits.at(0.5) ?? 0) / 3_600_000).toBeCloseTo(1, 1)
})
