import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, typed } from '../../src/index.ts'
import { prepareAsk } from '../../src/jobs/ask.ts'
import type { Ask } from '../../src/jobs/ask.ts'
import { askPieces } from '../../src/jobs/ask-pieces.ts'
import { collect } from '../support/collect.ts'
import { NOON } from '../support/mill.ts'

const plain = defineJob('plain', { input: typed<string>() })
const slow = defineJob('slow', { input: z.string().refine(() => Promise.resolve(true)) })

function prepareFor(kind: typeof plain | typeof slow): (input: unknown) => Ask | Promise<Ask> {
  return (input) => prepareAsk(kind, input, { options: {}, now: NOON, maxPayload: 1_000_000 })
}

const texts = (count: number, length = 1): readonly string[] =>
  Array.from({ length: count }, () => 'x'.repeat(length))

async function* waited(inputs: readonly string[]): AsyncGenerator<string, void> {
  yield* inputs
}

test.each([
  ['a list', texts(1_200), plain, [500, 500, 200]],
  ['long texts', texts(12, 100_000), plain, [5, 5, 2]],
  ['a source that may wait', waited(texts(3)), plain, [1, 1, 1]],
  ['a schema that waits', texts(3), slow, [1, 1, 1]],
  ['promises', texts(3).map((text) => Promise.resolve(text)), plain, [3]],
  ['nothing', [], plain, []],
] as const)('E5: the asks of a call are read in pieces: %s', async (_what, inputs, kind, sizes) => {
  const pieces = await collect(askPieces(inputs, prepareFor(kind)))
  expect(pieces.map((piece) => piece.length)).toEqual(sizes)
  expect(pieces.flat().every(({ payload }) => payload.startsWith('"x'))).toBe(true)
})
