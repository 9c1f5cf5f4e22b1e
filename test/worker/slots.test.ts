import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { handledKind } from '../../src/worker/handlers.ts'
import { slots } from '../../src/worker/slots.ts'
import type { Slots } from '../../src/worker/slots.ts'

const heavy = defineJob('heavy')
const light = defineJob('light')

function make(concurrency: number, heavyCap: number, mailCap: number): Slots {
  return slots({
    concurrency,
    kinds: new Map([
      ['heavy', handledKind(heavy, () => undefined, { concurrency: heavyCap })],
      ['light', handledKind(light, () => undefined)],
    ]),
    queueCaps: new Map([['mail', mailCap]]),
  })
}

test('C4: the free slots of a kind and a queue are those of its cap, within those of the worker', () => {
  const taken = make(4, 2, 3)
  expect([taken.free(), taken.freeOfKind('heavy'), taken.freeOfQueue('mail')]).toEqual([4, 2, 3])
  taken.take('heavy', 'mail')
  expect([taken.free(), taken.freeOfKind('heavy'), taken.freeOfQueue('mail')]).toEqual([3, 1, 2])
  taken.take('light', 'other')
  taken.take('light', 'other')
  expect([taken.free(), taken.freeOfKind('heavy'), taken.freeOfQueue('mail')]).toEqual([1, 1, 1])
  taken.take('light', 'mail')
  expect([taken.free(), taken.freeOfKind('heavy'), taken.freeOfQueue('mail')]).toEqual([0, 0, 0])
  taken.give('heavy', 'mail')
  expect([taken.free(), taken.freeOfKind('heavy'), taken.freeOfQueue('mail')]).toEqual([1, 1, 1])
})

test('C4: a kind or a queue without a cap has as many slots as the worker', () => {
  const taken = make(4, 2, 3)
  expect([taken.freeOfKind('light'), taken.freeOfQueue('other')]).toEqual([4, 4])
})

test('C4: after any takes and gives nothing is negative, beyond its cap, or forgotten', () => {
  const runs = fc.array(
    fc.record({
      kind: fc.constantFrom('heavy', 'light'),
      queue: fc.constantFrom('mail', 'other', 'third'),
      leaves: fc.boolean(),
    }),
    { maxLength: 200 },
  )
  fc.assert(
    fc.property(runs, (steps) => {
      const taken = make(5, 2, 3)
      const inside: { kind: string; queue: string }[] = []
      for (const { kind, queue, leaves } of steps) {
        const first = inside[0]
        if (leaves && first !== undefined) {
          inside.shift()
          taken.give(first.kind, first.queue)
        } else if (taken.freeOfKind(kind) > 0 && taken.freeOfQueue(queue) > 0) {
          inside.push({ kind, queue })
          taken.take(kind, queue)
        }
        const heavies = inside.filter((each) => each.kind === 'heavy').length
        const mails = inside.filter((each) => each.queue === 'mail').length
        expect(taken.busy).toBe(inside.length)
        expect(taken.free()).toBe(5 - inside.length)
        expect(taken.freeOfKind('heavy')).toBe(Math.min(2 - heavies, taken.free()))
        expect(taken.freeOfQueue('mail')).toBe(Math.min(3 - mails, taken.free()))
      }
    }),
  )
})
