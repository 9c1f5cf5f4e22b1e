// oxlint-disable vitest/expect-expect -- the compiler asserts: it refuses a @ts-expect-error over a line that compiles
import { type } from 'arktype'
import * as valibot from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { typed } from '../../src/core/schema.ts'
import type { CompletedJob, JobRecord, RunningJob } from '../../src/jobs/job.ts'
import type { InputOf, JobKind, NameOf, ParsedOf, Priority, ResultOf } from '../../src/jobs/kind.ts'
import { defineJob } from '../../src/jobs/kind.ts'

const mail = defineJob('mail', {
  input: typed<{ to: string }>(),
  result: typed<{ id: number }>(),
})
declare const anyRecord: JobRecord
declare const mailRecord: JobRecord<typeof mail>

describe('a kind carries its types', () => {
  test('from zod', () => {
    const input = z.object({ userId: z.string(), size: z.string().transform(Number) })
    const kind = defineJob('resize', { input })
    expectTypeOf<NameOf<typeof kind>>().toEqualTypeOf<'resize'>()
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<{ userId: string; size: string }>()
    expectTypeOf<ParsedOf<typeof kind>>().toEqualTypeOf<{ userId: string; size: number }>()
    expectTypeOf<ResultOf<typeof kind>>().toEqualTypeOf<unknown>()
  })

  test('from valibot', () => {
    const size = valibot.pipe(valibot.string(), valibot.transform(Number))
    const kind = defineJob('resize', { input: valibot.object({ size }) })
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<{ size: string }>()
    expectTypeOf<ParsedOf<typeof kind>>().toEqualTypeOf<{ size: number }>()
  })

  test('from arktype', () => {
    const kind = defineJob('resize', { input: type({ size: 'string.numeric.parse' }) })
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<{ size: string }>()
    expectTypeOf<ParsedOf<typeof kind>>().toEqualTypeOf<{ size: number }>()
  })

  test('from typed()', () => {
    interface Mail {
      to: string
      cc?: string[] | undefined
    }
    const kind = defineJob('mail', { input: typed<Mail>(), result: typed<{ url: string }>() })
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<Mail>()
    expectTypeOf<ParsedOf<typeof kind>>().toEqualTypeOf<Mail>()
    expectTypeOf<ResultOf<typeof kind>>().toEqualTypeOf<{ url: string }>()
  })

  test('from nothing: no input', () => {
    const kind = defineJob('tick')
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<undefined>()
    expectTypeOf<ParsedOf<typeof kind>>().toEqualTypeOf<undefined>()
  })

  test('a name known only at run time, with any input', () => {
    const name: string = 'later'
    const kind = defineJob(name, { input: typed<unknown>() })
    expectTypeOf<NameOf<typeof kind>>().toEqualTypeOf<string>()
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<unknown>()
  })

  test('every kind is a JobKind', () => {
    const kinds: JobKind[] = [
      defineJob('a'),
      defineJob('b', { input: z.object({ n: z.number() }) }),
      defineJob('c', { input: typed<string>(), result: typed<number>() }),
    ]
    expectTypeOf(kinds).toEqualTypeOf<JobKind[]>()
  })
})

describe('options', () => {
  test('may be values, or functions of the parsed input', () => {
    defineJob('mail', {
      input: z.object({ vip: z.string().transform((text) => text === 'yes') }),
      queue: ({ vip }) => {
        expectTypeOf(vip).toEqualTypeOf<boolean>()
        return vip ? 'vip' : undefined
      },
      priority: ({ vip }) => (vip ? 'high' : 3),
      retry: { failures: 5, backoff: { type: 'exponential', base: '1s', factor: 3, cap: '1h' } },
      lease: '60s',
      timeout: 600_000,
      expires: () => new Date(0),
      keep: { completed: 0, cancelled: '7d', dead: 'forever' },
    })
  })

  test('wrong ones do not compile', () => {
    // @ts-expect-error a priority that there is not
    defineJob('k', { priority: 'urgent' })
    // @ts-expect-error a priority out of range
    defineJob('k', { priority: 10 })
    // @ts-expect-error a level of text
    defineJob('k', { priority: '5' })
    // @ts-expect-error a duration with a unit in words
    defineJob('k', { timeout: '5 minutes' })
    // @ts-expect-error a duration without a unit
    defineJob('k', { lease: '30' })
    // @ts-expect-error a number of tries by another name
    defineJob('k', { attempts: 3 })
    // @ts-expect-error retry is an object
    defineJob('k', { retry: 3 })
    // @ts-expect-error a curve that there is not
    defineJob('k', { retry: { backoff: 'quadratic' } })
    // @ts-expect-error only an exponential curve has a factor
    defineJob('k', { retry: { backoff: { type: 'linear', factor: 2 } } })
    // @ts-expect-error a curve needs its type
    defineJob('k', { retry: { backoff: { base: '1s' } } })
    // @ts-expect-error delay belongs to enqueue
    defineJob('k', { delay: '5s' })
    // @ts-expect-error a record is kept for ever, not always
    defineJob('k', { keep: { dead: 'always' } })
    // @ts-expect-error a function answers the option’s own type
    defineJob('k', { input: typed<string>(), queue: (text) => text.length })
    // @ts-expect-error options are not asynchronous
    defineJob('k', { queue: async () => 'mail' })
    // @ts-expect-error a kind has a name
    defineJob()
    // @ts-expect-error an object is not a schema
    defineJob('k', { input: { userId: 'string' } })
  })

  test('priorities are words or levels', () => {
    expectTypeOf<'high'>().toExtend<Priority>()
    expectTypeOf<0>().toExtend<Priority>()
    expectTypeOf<number>().not.toExtend<Priority>()
  })
})

describe('what does not survive JSON does not compile', () => {
  test('as an input', () => {
    // @ts-expect-error a Date comes back as text
    defineJob('k', { input: typed<{ at: Date }>() })
    // @ts-expect-error JSON has no bigint
    defineJob('k', { input: typed<{ amount: bigint }>() })
    // @ts-expect-error a Map is stored empty
    defineJob('k', { input: typed<Map<string, number>>() })
    // @ts-expect-error a Set is stored empty
    defineJob('k', { input: typed<{ tags: Set<string> }>() })
    // @ts-expect-error JSON has no bytes
    defineJob('k', { input: typed<{ image: Uint8Array }>() })
    // @ts-expect-error JSON has no functions
    defineJob('k', { input: typed<{ then: () => void }>() })
    // @ts-expect-error JSON has no symbols
    defineJob('k', { input: typed<{ kind: symbol }>() })
    // @ts-expect-error deep inside, beside a value that is fine
    defineJob('k', { input: typed<{ list: { at: Date | string }[] }>() })
    // @ts-expect-error what zod wants is a Date
    defineJob('k', { input: z.object({ at: z.date() }) })
    // @ts-expect-error what valibot wants is a bigint
    defineJob('k', { input: valibot.object({ amount: valibot.bigint() }) })
    // @ts-expect-error what arktype wants is a Date
    defineJob('k', { input: type({ at: 'Date' }) })
  })

  test('as a result', () => {
    // @ts-expect-error a Date comes back as text
    defineJob('k', { result: typed<Date>() })
    // @ts-expect-error JSON has no bigint
    defineJob('k', { result: typed<{ amount: bigint }>() })
  })

  test('a schema that makes a Date of text is fine', () => {
    const kind = defineJob('k', { input: z.object({ at: z.iso.datetime().pipe(z.coerce.date()) }) })
    expectTypeOf<ParsedOf<typeof kind>>().toEqualTypeOf<{ at: Date }>()
  })

  test('optional, nested, readonly, unions and tuples are fine', () => {
    interface Order {
      readonly id: string
      note?: string | null | undefined
      lines: readonly { sku: string; count: number }[]
      place: readonly [number, number]
      status: 'open' | 'paid'
    }
    const kind = defineJob('order', { input: typed<Order>() })
    expectTypeOf<InputOf<typeof kind>>().toEqualTypeOf<Order>()
  })
})

describe('records', () => {
  test('narrow by kind', () => {
    expectTypeOf(anyRecord.input).toEqualTypeOf<unknown>()
    if (mail.is(anyRecord)) expectTypeOf(anyRecord.input).toEqualTypeOf<{ to: string }>()
  })

  test('narrow by state', () => {
    const record = mailRecord
    if (record.state === 'completed') {
      expectTypeOf(record).toEqualTypeOf<CompletedJob<typeof mail>>()
      expectTypeOf(record.result).toEqualTypeOf<{ id: number }>()
    }
    if (record.state === 'running') {
      expectTypeOf(record).toEqualTypeOf<RunningJob<typeof mail>>()
      // @ts-expect-error a running job has no result yet
      void record.result
    }
    if (record.state === 'dead') expectTypeOf(record.reason).toExtend<string>()
  })

  test('cannot be changed', () => {
    // @ts-expect-error a record is what was read
    anyRecord.queue = 'other'
    // @ts-expect-error a kind is frozen
    mail.name = 'mail'
  })
})
