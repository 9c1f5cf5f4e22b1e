import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Schema } from '../../src/core/schema.ts'
import { typed } from '../../src/core/schema.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { encodeInput, readInput } from '../../src/jobs/input.ts'
import { definitionOf } from '../../src/jobs/definition.ts'
import { defineJob } from '../../src/jobs/kind.ts'

test('a stored payload is parsed again for the handler', () => {
  const kind = definitionOf(
    defineJob('k', { input: z.object({ n: z.string().transform(Number) }) }),
  )
  expect(readInput(kind, encodeInput(kind, { n: '5' }, 100))).toEqual({ n: 5 })
})

test('a payload that no longer fits the schema, or is no JSON, throws', () => {
  const kind = definitionOf(defineJob('k', { input: z.object({ n: z.string() }) }))
  expect(() => readInput(kind, '{"n":5}')).toThrow(InvalidInputError)
  expect(() => readInput(kind, '{')).toThrow(SyntaxError)
})

test.each<[string, Schema | undefined, unknown, unknown]>([
  ['no input, of a kind without one', undefined, undefined, undefined],
  ['no input, where the schema has a default', z.string().default('x'), undefined, 'x'],
  ['no input, where it is optional', z.string().optional(), undefined, undefined],
  ['no input, where nothing is checked', typed<string | undefined>(), undefined, undefined],
  ['null, where only null passes', z.string().nullable(), null, null],
  ['a value beside null', z.string().nullable(), 'a', 'a'],
])('stored and read: %s', (_name, input, given, parsed) => {
  const kind = definitionOf(Reflect.apply(defineJob, undefined, ['k', { input }]))
  expect(readInput(kind, encodeInput(kind, given, 100))).toEqual(parsed)
})

test('null is tried after no input by an asynchronous schema too', async () => {
  const input = z
    .string()
    .nullable()
    .refine(async () => true)
  const kind = definitionOf(defineJob('k', { input }))
  await expect(readInput(kind, 'null')).resolves.toBeNull()
})
