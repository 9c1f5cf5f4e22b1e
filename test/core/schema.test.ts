import { type } from 'arktype'
import * as valibot from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Schema } from '../../src/core/schema.ts'
import { isSchema, typed, validate } from '../../src/core/schema.ts'
import { InvalidInputError } from '../../src/errors.ts'

const schemas: readonly (readonly [string, Schema])[] = [
  ['zod', z.object({ user: z.object({ id: z.string() }), size: z.string().transform(Number) })],
  [
    'valibot',
    valibot.object({
      user: valibot.object({ id: valibot.string() }),
      size: valibot.pipe(valibot.string(), valibot.transform(Number)),
    }),
  ],
  ['arktype', type({ user: { id: 'string' }, size: 'string.numeric.parse' })],
]

describe.each(schemas)('E6: a schema of %s', (_name, schema) => {
  test('is known as one', () => {
    expect(isSchema(schema)).toBe(true)
  })

  test('answers what it made of the input, at once', () => {
    expect(validate(schema, 'resize', { user: { id: 'a' }, size: '5' })).toEqual({
      user: { id: 'a' },
      size: 5,
    })
  })

  test('refuses with its issues, the kind and the path', () => {
    const refused = refusalOf(() => validate(schema, 'resize', { user: { id: 7 }, size: '5' }))
    expect(refused.kind).toBe('resize')
    expect(refused.issues.map((issue) => issue.path)).toEqual([['user', 'id']])
    expect(refused.message).toContain('invalid input for "resize": user.id: ')
  })
})

test('an asynchronous schema answers a promise, of the value or of the refusal', async () => {
  const schema = z.string().refine(async (text) => text === 'yes')
  const answer = validate(schema, 'ask', 'yes')
  expect(answer).toBeInstanceOf(Promise)
  await expect(answer).resolves.toBe('yes')
  await expect(validate(schema, 'ask', 'no')).rejects.toBeInstanceOf(InvalidInputError)
})

test('a schema that throws, or rejects, is an InvalidInputError that keeps the cause', async () => {
  const fault = new Error('no such table')
  const throwing = schemaOf(() => {
    throw fault
  })
  const rejecting = schemaOf(() => Promise.reject(fault))
  expect(() => validate(throwing, 'ask', 'x')).toThrow('the schema itself failed (no such table)')
  await expect(validate(rejecting, 'ask', 'x')).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    cause: fault,
  })
})

function refusalOf(call: () => unknown): InvalidInputError {
  try {
    call()
  } catch (error) {
    if (error instanceof InvalidInputError) return error
  }
  throw new Error('it was not refused')
}

function schemaOf(check: Schema['~standard']['validate']): Schema {
  return { '~standard': { version: 1, vendor: 'test', validate: check } }
}

test('typed() takes everything and is a schema itself', () => {
  const value = { any: 'thing' }
  expect(isSchema(typed())).toBe(true)
  expect(validate(typed<string>(), 'x', value)).toBe(value)
})

test.each([[undefined], [null], ['zod'], [{}], [{ '~standard': null }], [{ '~standard': {} }]])(
  '%j is not a schema',
  (value) => {
    expect(isSchema(value)).toBe(false)
  },
)
