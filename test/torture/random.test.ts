import { expect, test } from 'vitest'
import { between, pick, seededRandom } from './random.ts'

const draws = (seed: number, count: number): readonly number[] => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, random)
}

test('the same seed gives the same numbers, another seed others', () => {
  expect(draws(7, 20)).toEqual(draws(7, 20))
  expect(draws(7, 20)).not.toEqual(draws(8, 20))
})

test('what is picked is as frequent as its weight', () => {
  const random = seededRandom(1)
  const picked = Array.from({ length: 10_000 }, () =>
    pick(random, [
      ['often', 9],
      ['seldom', 1],
    ]),
  )
  const seldom = picked.filter((word) => word === 'seldom').length
  expect(seldom).toBeGreaterThan(800)
  expect(seldom).toBeLessThan(1_200)
})

test('whole numbers cover their range with both ends', () => {
  const random = seededRandom(1)
  const seen = new Set(Array.from({ length: 200 }, () => between(random, 2, 5)))
  expect(seen).toEqual(new Set([2, 3, 4, 5]))
})
