import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { turnRoom } from '../../src/worker/turn-room.ts'
import type { TurnRoom } from '../../src/worker/turn-room.ts'

function begun(room: TurnRoom, at: (count: number) => number): number {
  let count = 0
  for (; room.mayBegin && count < 1_000; count += 1) room.began(at(count))
  return count
}

const still = (): number => 0
const slow = (count: number): number => count * 5

test('a turn begins as many runs as there are slots, and more while it is young', () => {
  expect(begun(turnRoom({ concurrency: 20, onNextTurn: () => undefined }), slow)).toBe(20)
  const room = turnRoom({ concurrency: 20, onNextTurn: () => undefined })
  expect(begun(room, (count) => count / 10)).toBe(51)
})

test('the turn that brought a claim begins a few, and the next one all', async () => {
  let turns = 0
  const room = turnRoom({
    concurrency: 20,
    onNextTurn: () => {
      turns += 1
    },
  })
  room.claimed()
  expect(begun(room, still)).toBe(10)
  await nextTurn()
  expect(turns).toBe(1)
  expect(begun(room, slow)).toBe(20)
})

test('fewer slots than that are filled at once', () => {
  const room = turnRoom({ concurrency: 3, onNextTurn: () => undefined })
  room.claimed()
  expect(begun(room, still)).toBe(3)
})
