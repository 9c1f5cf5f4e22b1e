import * as fc from 'fast-check'
import { decodeTime, encodeTime } from 'ulid'
import { expect, test, vi } from 'vitest'
import { halvesOf } from '../../src/core/id-halves.ts'
import { isId, makeId } from '../../src/core/id.ts'

const NOW = 1_800_000_000_000

test('E2: ids grow within the process, also when the clock stands still or goes back', () => {
  const instants = [NOW, NOW, NOW + 1, NOW - 5_000, NOW, NOW + 2, 0, -7, NOW + 2.5]
  const ids = instants.map((now) => makeId(now))
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every((id) => isId(id))).toBe(true)
})

test('an id holds the instant it was made at', () => {
  const later = NOW + 86_400_000
  expect(decodeTime(makeId(later))).toBe(later)
})

test('the bits of an id come from the secure source, drawn for 16 ids at a time', () => {
  const spy = vi.spyOn(globalThis.crypto, 'getRandomValues')
  for (let second = 0; second < 32; second += 1) makeId(NOW + 2 * 86_400_000 + second)
  expect(spy).toHaveBeenCalledTimes(2)
  spy.mockRestore()
})

test('ids of different instants share no random bits', () => {
  const later = NOW + 3 * 86_400_000
  const tails = Array.from({ length: 1_000 }, (_, index) => makeId(later + index).slice(10))
  expect(new Set(tails).size).toBe(1_000)
})

test.each([
  ['01ARZ3NDEKTSV4RRFFQ69G5FAV', true],
  ['7ZZZZZZZZZZZZZZZZZZZZZZZZZ', true],
  ['00000000000000000000000000', true],
  ['80000000000000000000000000', false],
  ['01arz3ndektsv4rrffq69g5fav', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FA', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FAV0', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FAV\n', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FAI', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FAL', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FAO', false],
  ['01ARZ3NDEKTSV4RRFFQ69G5FAU', false],
  ['', false],
  [null, false],
  [5, false],
])('E2: isId(%j) is %s', (text, expected) => {
  expect(isId(text)).toBe(expected)
})

test('the halves are the 128 bits, big-endian', () => {
  expect(halvesOf('00000000000000000000000001')).toEqual({ hi: 0n, lo: 1n })
  expect(halvesOf('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toEqual({ hi: 2n ** 64n - 1n, lo: 2n ** 64n - 1n })
  expect(halvesOf('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toEqual({
    hi: 0x01563e3ab5d3d676n,
    lo: 0x4c61efb99302bd5bn,
  })
})

test('the upper half begins with the time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (time) => {
      expect(halvesOf(encodeTime(time) + '0'.repeat(16)).hi >> 16n).toBe(BigInt(time))
    }),
  )
})
