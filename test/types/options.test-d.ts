// oxlint-disable vitest/expect-expect -- the compiler asserts: it refuses a @ts-expect-error over a line that compiles
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { duration } from '../../src/core/duration.ts'
import { typed } from '../../src/core/schema.ts'
import type { JobKind } from '../../src/jobs/kind.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import type { EnqueueOptions, InputArgs } from '../../src/jobs/options.ts'

declare function enqueue<K extends JobKind>(kind: K, ...args: InputArgs<K, EnqueueOptions>): void

const tick = defineJob('tick')
const mail = defineJob('mail', { input: typed<{ to: string }>() })
const report = defineJob('report', { input: typed<{ day: string } | undefined>() })
const resize = defineJob('resize', { input: z.object({ size: z.string().transform(Number) }) })

describe('enqueue takes the input of its kind', () => {
  test('a kind without input takes none', () => {
    enqueue(tick)
    enqueue(tick, undefined, { delay: '5m' })
    // @ts-expect-error there is no input to give
    enqueue(tick, { a: 1 })
    // @ts-expect-error options come after the input
    enqueue(tick, { delay: '5m' })
  })

  test('a kind with input takes that', () => {
    enqueue(mail, { to: 'a' })
    enqueue(mail, { to: 'a' }, { priority: 'high' })
    // @ts-expect-error the input is missing
    enqueue(mail)
    // @ts-expect-error the input is of another type
    enqueue(mail, { to: 5 })
    // @ts-expect-error a member is missing
    enqueue(mail, {})
    // @ts-expect-error a member too many
    enqueue(mail, { to: 'a', cc: 'b' })
    // @ts-expect-error a name is not a kind
    enqueue('mail', { to: 'a' })
  })

  test('an optional input may be left out', () => {
    enqueue(report)
    enqueue(report, { day: '2026-01-01' })
  })

  test('a schema that transforms takes what goes in, not what comes out', () => {
    enqueue(resize, { size: '5' })
    // @ts-expect-error the parsed type is not the given one
    enqueue(resize, { size: 5 })
  })
})

describe('E4: options of one enqueue', () => {
  test('values only, delay or at', () => {
    const until = new Date(0)
    enqueue(tick, undefined, { delay: '5m' })
    enqueue(tick, undefined, { delay: 0 })
    enqueue(tick, undefined, { at: until, expires: until })
    enqueue(tick, undefined, { delay: undefined, at: until, queue: undefined })
    enqueue(tick, undefined, { id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', keep: { completed: 'forever' } })
  })

  test('wrong ones do not compile', () => {
    // @ts-expect-error delay and at are one too many
    enqueue(tick, undefined, { delay: '5m', at: new Date(0) })
    // @ts-expect-error an instant is a Date
    enqueue(tick, undefined, { at: 1_700_000_000 })
    // @ts-expect-error a delay is not a Date
    enqueue(tick, undefined, { delay: new Date(0) })
    // @ts-expect-error a priority that there is not
    enqueue(tick, undefined, { priority: 'urgent' })
    // @ts-expect-error any number is not a priority
    enqueue(tick, undefined, { priority: Number('5') })
    // @ts-expect-error functions belong to the kind
    enqueue(tick, undefined, { queue: () => 'mail' })
    // @ts-expect-error an option of another queue
    enqueue(tick, undefined, { startAfter: 30 })
    // @ts-expect-error a unit that there is not
    enqueue(tick, undefined, { delay: '5y' })
    // @ts-expect-error an id is text
    enqueue(tick, undefined, { id: 5 })
  })

  test('text from a configuration goes through duration()', () => {
    const text: string = '5m'
    expectTypeOf(duration(text)).toEqualTypeOf<number>()
    enqueue(tick, undefined, { delay: duration(text) })
    // @ts-expect-error any text is not a duration
    enqueue(tick, undefined, { delay: text })
  })
})
