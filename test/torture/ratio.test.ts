import { expect, test } from 'vitest'
import { atLeast, atMost, gateText, holds, median, quantile } from './ratio.ts'

test('torture: a gate holds up to its limit, and never for what was not measured', () => {
  expect(holds(atMost(1.5, 'x', 1.5))).toBe(true)
  expect(holds(atMost(1.5, 'x', 1.51))).toBe(false)
  expect(holds(atLeast(0.9, 'x', 0.9))).toBe(true)
  expect(holds(atLeast(0.9, 'x', 0.89))).toBe(false)
  expect(holds(atMost(1, 'x', Number.NaN))).toBe(false)
  expect(holds(atLeast(1, 'x', Number.NaN))).toBe(false)
})

test('torture: a gate tells what it measured, and whether it holds', () => {
  expect(gateText(atMost(1.5, 'claim time', 2))).toBe('FAILED  claim time: 2.00, at most 1.5')
  expect(gateText(atLeast(1, 'speed', 1.234))).toBe('holds   speed: 1.23, at least 1')
})

test('torture: a quantile is one of the values, and of nothing it is no number', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2)
  expect(quantile([10, 20], 0.99)).toBe(20)
  expect(median([])).toBeNaN()
})
