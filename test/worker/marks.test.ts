import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { marks, markText } from '../../src/worker/marks.ts'
import type { Mark, Marks, Probe } from '../../src/worker/marks.ts'

const probe: Probe = { queue: 'mail', level: 5, lane: 'a' }
const START: Mark = { due: Number.NEGATIVE_INFINITY, id: '' }

function walkedTo(now: number): Marks {
  const found = marks()
  found.walked(probe, { last: undefined, exhausted: true, now })
  return found
}

test('marks: a probe that was never walked begins at the start', () => {
  expect(marks().of(probe)).toEqual(START)
  expect(marks().areSet).toBe(false)
})

test('marks: as text a mark is rounded down, so that it never hides the row it was lowered to', () => {
  expect(markText(START.due)).toBe('-infinity')
  expect(markText(1_000)).toBe('1970-01-01T00:00:01.000Z')
  expect(markText(1_000.9)).toBe('1970-01-01T00:00:01.000Z')
})

test('marks: a walk moves the mark of its own probe to the last row it took', () => {
  const found = marks()
  found.walked(probe, { last: { due: 5, id: 'b' }, exhausted: false, now: 9_000 })
  expect(found.of(probe)).toEqual({ due: 5, id: 'b' })
  for (const other of [{ queue: 'x' }, { level: 4 }, { lane: 'b' }]) {
    expect(found.of({ ...probe, ...other })).toEqual(START)
  }
  expect(found.areSet).toBe(true)
})

test('marks: a walk that found the end goes on at the present, but for what is just being committed', () => {
  const found = walkedTo(9_000)
  expect(found.of(probe)).toEqual({ due: 8_750, id: '' })
  found.walked(probe, { last: { due: 8_900, id: 'c' }, exhausted: true, now: 9_000 })
  expect(found.of(probe)).toEqual({ due: 8_900, id: 'c' })
})

test('marks: a hint lowers the marks of its queue, in every level and lane, and never raises one', () => {
  const found = walkedTo(9_000)
  const other = { ...probe, level: 2 }
  found.walked(other, { last: { due: 3, id: 'a' }, exhausted: false, now: 9_000 })
  found.lowerQueue('mail', 4_000)
  found.lowerQueue('elsewhere', 1)
  expect(found.of(probe)).toEqual({ due: 4_000, id: '' })
  expect(found.of(other)).toEqual({ due: 3, id: 'a' })
})

test('marks: what is lowered while a walk is under way stays low when it comes back', () => {
  const found = walkedTo(9_000)
  found.walkBegins()
  found.lowerQueue('mail', 4_000)
  found.walked(probe, { last: { due: 8_990, id: 'z' }, exhausted: true, now: 9_500 })
  expect(found.of(probe)).toEqual({ due: 4_000, id: '' })

  found.walkBegins()
  found.lower(probe, { due: 3_000, id: 'q' })
  found.walked(probe, { last: undefined, exhausted: true, now: 9_700 })
  expect(found.of(probe)).toEqual({ due: 3_000, id: 'q' })

  found.walkBegins()
  found.walked(probe, { last: undefined, exhausted: true, now: 9_900 })
  expect(found.of(probe)).toEqual({ due: 9_650, id: '' })
})

test('marks: a queue name and a probe of another queue are never taken for one another', () => {
  const found = walkedTo(9_000)
  const tricky = { queue: 'mail 5', level: 5, lane: 'a' }
  found.walkBegins()
  found.lowerQueue('mail', 1)
  found.walked(tricky, { last: undefined, exhausted: true, now: 9_000 })
  expect(found.of(tricky)).toEqual({ due: 8_750, id: '' })
})

test('marks: a row that was announced since the last walk is never hidden', () => {
  const events = fc.array(
    fc.oneof(
      fc.record({ type: fc.constant('hint' as const), due: fc.integer({ min: 0, max: 10_000 }) }),
      fc.record({
        type: fc.constant('walk' as const),
        now: fc.integer({ min: 0, max: 10_000 }),
        last: fc.option(fc.integer({ min: 0, max: 10_000 })),
        exhausted: fc.boolean(),
        during: fc.array(fc.integer({ min: 0, max: 10_000 }), { maxLength: 3 }),
      }),
    ),
    { maxLength: 50 },
  )
  fc.assert(
    fc.property(events, (steps) => {
      const found = marks()
      let announced = Number.POSITIVE_INFINITY
      for (const step of steps) {
        if (step.type === 'hint') {
          announced = Math.min(announced, step.due)
          found.lowerQueue('mail', step.due)
        } else {
          found.walkBegins()
          for (const due of step.during) found.lowerQueue('mail', due)
          const last = step.last === null ? undefined : { due: step.last, id: 'x' }
          found.walked(probe, { last, exhausted: step.exhausted, now: step.now })
          announced = Math.min(Number.POSITIVE_INFINITY, ...step.during)
        }
        expect(found.of(probe).due).toBeLessThanOrEqual(Math.max(announced, 0))
      }
    }),
  )
})
