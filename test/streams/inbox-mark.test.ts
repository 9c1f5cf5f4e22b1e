import { expect, test } from 'vitest'
import { inboxMark } from '../../src/streams/inbox-mark.ts'

test('T2: a mark follows what was moved, a quarter of a second behind', () => {
  const mark = inboxMark()
  const passed = (headPlace: number, now: number): void =>
    mark.passed({ from: mark.at, headPlace, isFull: false, now })
  passed(10, 0)
  passed(20, 100)
  expect(mark.at).toBe(0)
  passed(30, 250)
  expect(mark.at).toBe(10)
  passed(40, 400)
  expect(mark.at).toBe(10)
  passed(50, 500)
  expect(mark.at).toBe(30)
})

test('T2: while there is more than one pass moves, the mark follows at once', () => {
  const mark = inboxMark()
  mark.passed({ from: 0, headPlace: 10_000, isFull: true, now: 0 })
  expect(mark.at).toBe(10_000)
  mark.passed({ from: 10_000, headPlace: 20_000, isFull: true, now: 1 })
  expect(mark.at).toBe(20_000)
})

test('T2: one walk begins at what was committed late, and the next where the walks were before', () => {
  const mark = inboxMark()
  mark.passed({ from: 0, headPlace: 10_000, isFull: true, now: 0 })
  mark.lower(70)
  mark.lower(90)
  expect(mark.at).toBe(69)
  mark.passed({ from: 69, headPlace: 70, isFull: false, now: 1 })
  expect(mark.at).toBe(10_000)
})

test('T2: a walk that was under way when the mark was lowered does not raise it again', () => {
  const mark = inboxMark()
  mark.passed({ from: 0, headPlace: 10_000, isFull: true, now: 0 })
  mark.lower(70)
  mark.passed({ from: 10_000, headPlace: 10_020, isFull: false, now: 1 })
  expect(mark.at).toBe(69)
})

test('T2: a full walk from a late place goes on behind what it moved', () => {
  const mark = inboxMark()
  mark.passed({ from: 0, headPlace: 50_000, isFull: true, now: 0 })
  mark.lower(70)
  mark.passed({ from: 69, headPlace: 10_100, isFull: true, now: 1 })
  expect(mark.at).toBe(10_100)
  mark.passed({ from: 10_100, headPlace: 10_300, isFull: false, now: 2 })
  expect(mark.at).toBe(50_000)
})
