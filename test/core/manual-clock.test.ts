import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'

test('it stands still until it is moved', () => {
  const clock = manualClock(1_000)
  expect([clock.now(), clock.now()]).toEqual([1_000, 1_000])
  clock.advance(250)
  expect(clock.now()).toBe(1_250)
})

test('timers fire in the order of their instants, each at its instant', () => {
  const clock = manualClock(0)
  const fired: string[] = []
  clock.after(30, () => fired.push(`c ${clock.now()}`))
  clock.after(10, () => fired.push(`a ${clock.now()}`))
  clock.after(20, () => fired.push(`b ${clock.now()}`))
  clock.after(31, () => fired.push('later'))
  clock.advance(30)
  expect(fired).toEqual(['a 10', 'b 20', 'c 30'])
  expect([clock.now(), clock.timers]).toEqual([30, 1])
})

test('a timer set by a timer fires in the same move when it comes due in it', () => {
  const clock = manualClock(0)
  const fired: number[] = []
  const again = (): void => {
    fired.push(clock.now())
    clock.after(10, again)
  }
  clock.after(10, again)
  clock.advance(35)
  expect(fired).toEqual([10, 20, 30])
})

test('a timer that was taken back never fires, one that is late fires at once', () => {
  const clock = manualClock(0)
  const fired: string[] = []
  const cancel = clock.after(5, () => fired.push('never'))
  cancel()
  clock.after(-100, () => fired.push(`late ${clock.now()}`))
  clock.advance(0)
  expect(fired).toEqual(['late 0'])
  expect(clock.timers).toBe(0)
})
