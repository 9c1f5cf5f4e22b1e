import { array, assert, integer, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { placesByRank } from '../../src/worker/rotation.ts'

test('C3: three levels that always wait share sixteen slots 12 : 3 : 1', () => {
  expect(placesByRank({ filled: 0, free: 16, ratio: 4, ranks: 3 })).toEqual([
    [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15],
    [4, 8, 12],
    [16],
  ])
})

test('C3: a single level, or a single slot before the first turn, is the best level alone', () => {
  expect(placesByRank({ filled: 3, free: 3, ratio: 4, ranks: 1 })).toEqual([[1, 2, 3]])
  expect(placesByRank({ filled: 0, free: 1, ratio: 4, ranks: 3 })).toEqual([[1], [], []])
  expect(placesByRank({ filled: 0, free: 0, ratio: 4, ranks: 2 })).toEqual([[], []])
})

test('C3: however the slots come, each place is given once, and shares are exact over every period', () => {
  const setting = record({
    ratio: integer({ min: 2, max: 6 }),
    ranks: integer({ min: 1, max: 4 }),
    windows: array(integer({ min: 0, max: 40 }), { maxLength: 60 }),
  })
  assert(
    property(setting, ({ ratio, ranks, windows }) => {
      const shares = Array.from({ length: ranks }, () => 0)
      let filled = 0
      for (const free of windows) {
        const places = placesByRank({ filled, free, ratio, ranks })
        expect(places.flat().toSorted((a, b) => a - b)).toEqual(upTo(free))
        for (const [rank, own] of places.entries()) shares[rank] = (shares[rank] ?? 0) + own.length
        filled += free
      }
      // The k-th rank has every r^k-th slot but those of the ranks behind it: exact, not about.
      const reserved = (rank: number): number =>
        rank < ranks ? Math.floor(filled / ratio ** rank) : 0
      expect(shares).toEqual(shares.map((_, rank) => reserved(rank) - reserved(rank + 1)))
    }),
  )
})

test('C3: the shares of k levels converge to those of the ratio', () => {
  assert(
    property(integer({ min: 2, max: 5 }), integer({ min: 2, max: 4 }), (ratio, ranks) => {
      const free = ratio ** (ranks - 1) * 50
      const places = placesByRank({ filled: 0, free, ratio, ranks })
      const last = ranks - 1
      for (const [rank, own] of places.entries()) {
        const share = rank === last ? 1 / ratio ** last : (ratio - 1) / ratio ** (rank + 1)
        expect(own.length / free).toBeCloseTo(share, 10)
      }
    }),
  )
})

test('C3: the lowest of ten levels has its turn, at any ratio without a power too large for a number', () => {
  const ranks = 10
  const turn = 4 ** 9
  expect(placesByRank({ filled: turn - 1, free: 1, ratio: 4, ranks }).at(-1)).toEqual([1])
  expect(placesByRank({ filled: turn * 3 - 1, free: 2, ratio: 4, ranks }).at(-1)).toEqual([1])
  const large = placesByRank({ filled: 0, free: 1_000, ratio: 1_000, ranks })
  expect(large.map((own) => own.length)).toEqual([999, 1, 0, 0, 0, 0, 0, 0, 0, 0])
})

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
