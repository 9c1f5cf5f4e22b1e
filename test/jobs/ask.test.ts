import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { isId } from '../../src/core/id.ts'
import { typed } from '../../src/core/schema.ts'
import { InvalidInputError, InvalidOptionError, PayloadTooLargeError } from '../../src/errors.ts'
import type { Ask, AskContext } from '../../src/jobs/ask.ts'
import { prepareAsk } from '../../src/jobs/ask.ts'
import { defineJob } from '../../src/jobs/kind.ts'

const NOW = 1_800_000_000_000
const context: AskContext = { options: {}, now: NOW, maxPayload: 262_144 }
const welcome = defineJob('welcome', { input: z.object({ userId: z.string() }), queue: 'mail' })
const anything = defineJob('anything', { input: typed<unknown>() })

test('an ask of a synchronous schema is there at once', () => {
  const ask = atOnce(prepareAsk(welcome, { userId: 'a' }, { ...context, options: { delay: '1s' } }))
  expect(ask).toMatchObject({
    kind: 'welcome',
    payload: '{"userId":"a"}',
    queue: 'mail',
    priority: 5,
    delayMs: 1_000,
    at: null,
    policyText: null,
  })
  expect(isId(ask.id)).toBe(true)
})

test('what differs from the default policy is there as text', () => {
  const options = { retry: { failures: 3 } }
  expect(atOnce(prepareAsk(welcome, { userId: 'a' }, { ...context, options })).policyText).toBe(
    '{"failures":3}',
  )
})

test('an asynchronous schema answers a promise', async () => {
  const input = z.object({ n: z.string() }).refine(async ({ n }) => n !== 'no')
  const kind = defineJob('async', { input })
  const ask = prepareAsk(kind, { n: 'yes' }, context)
  expect(ask).toBeInstanceOf(Promise)
  await expect(ask).resolves.toMatchObject({ payload: '{"n":"yes"}' })
  await expect(prepareAsk(kind, { n: 'no' }, context)).rejects.toBeInstanceOf(InvalidInputError)
})

test('what is stored is what was given; option functions get it parsed', () => {
  const kind = defineJob('resize', {
    input: z.object({ size: z.string().transform(Number), unit: z.string().default('px') }),
    queue: ({ size, unit }) => `${unit}-${size + 1}`,
  })
  const ask = atOnce(prepareAsk(kind, { size: '41' }, context))
  expect(ask.payload).toBe('{"size":"41"}')
  expect(ask.queue).toBe('px-42')
})

test('what is stored is what was given at the call, whatever happens to it while it is checked', async () => {
  const input = z.object({ n: z.number() }).refine(async () => true)
  const given = { n: 1 }
  const ask = prepareAsk(defineJob('async', { input }), given, context)
  given.n = 2
  expect((await ask).payload).toBe('{"n":1}')
})

describe('E6: before any I/O', () => {
  test('an input that the schema refuses', () => {
    expect(preparing(welcome, { userId: 7 })).toThrow(InvalidInputError)
    expect(preparing(welcome, undefined)).toThrow(InvalidInputError)
  })

  test.each<[unknown, readonly (string | number)[], string]>([
    [{ items: [{ price: 5n }] }, ['items', 0, 'price'], 'items.0.price: JSON has no bigint'],
    [{ ratio: NaN }, ['ratio'], 'ratio: NaN would be stored as null'],
    [{ at: new Date(0) }, ['at'], 'at: a Date would come back as text'],
    [new Map(), [], 'invalid input for "anything": a Map would be stored empty'],
  ])('an input that JSON cannot hold: %o', (input, path, message) => {
    expect(preparing(anything, input)).toThrow(message)
    expect(preparing(anything, input)).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        issues: [expect.objectContaining({ path })],
      }),
    )
  })

  test('an input for a kind that takes none', () => {
    expect(preparing(defineJob('tick'), { a: 1 })).toThrow('this kind takes no input')
    expect(atOnce(prepareAsk(defineJob('tick'), undefined, context)).payload).toBe('null')
  })

  test('an option that is wrong', () => {
    const options = { priority: 12 }
    expect(() =>
      Reflect.apply(prepareAsk, undefined, [anything, 1, { ...context, options }]),
    ).toThrow(InvalidOptionError)
  })

  test('a payload that is too large, in bytes of UTF-8', () => {
    const limited = { ...context, maxPayload: 11 }
    expect(atOnce(prepareAsk(anything, '€€€', limited)).payload).toBe('"€€€"')
    expect(() => prepareAsk(anything, '€€€x', limited)).toThrow(PayloadTooLargeError)
    expect(() => prepareAsk(anything, '€€€x', limited)).toThrow(
      'the input of "anything" is 12 bytes, the limit is 11',
    )
    expect(atOnce(prepareAsk(anything, 'x'.repeat(9), limited)).payload.length).toBe(11)
    expect(() => prepareAsk(anything, 'x'.repeat(10), limited)).toThrow(PayloadTooLargeError)
  })

  test('what is no kind', () => {
    expect(() => Reflect.apply(prepareAsk, undefined, ['welcome', {}, context])).toThrow(
      'not a name',
    )
  })
})

describe('E2: the id', () => {
  test('may be the producer’s own', () => {
    const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
    expect(atOnce(prepareAsk(anything, 1, { ...context, options: { id } })).id).toBe(id)
  })

  test('grows from ask to ask', () => {
    const ids = [1, 2, 3].map((input) => atOnce(prepareAsk(anything, input, context)).id)
    expect(ids.toSorted()).toEqual(ids)
  })

  test.each(['order-17', '01arz3ndektsv4rrffq69g5fav', '81ARZ3NDEKTSV4RRFFQ69G5FAV', '', 5, null])(
    '%j is an error that says what an id is',
    (id) => {
      const options: object = { id }
      expect(() =>
        Reflect.apply(prepareAsk, undefined, [anything, 1, { ...context, options }]),
      ).toThrow('an id is a ULID')
    },
  )
})

function preparing(kind: Parameters<typeof prepareAsk>[0], input: unknown): () => unknown {
  return () => prepareAsk(kind, input, context)
}

function atOnce(ask: Ask | Promise<Ask>): Ask {
  if (ask instanceof Promise) throw new Error('it is a promise')
  return ask
}
