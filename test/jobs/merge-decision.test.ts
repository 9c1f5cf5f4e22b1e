import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { typed } from '../../src/core/schema.ts'
import { definitionOf } from '../../src/jobs/definition.ts'
import type { KeyLook } from '../../src/jobs/dedup-statements.ts'
import type { JobKind } from '../../src/jobs/kind.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { prepareAsk } from '../../src/jobs/ask.ts'
import { isKeyed } from '../../src/jobs/keyed-ask.ts'
import type { KeyedAsk } from '../../src/jobs/keyed-ask.ts'
import { mergeStep } from '../../src/jobs/merge-decision.ts'
import type { MergeStep } from '../../src/jobs/merge-decision.ts'

const ID = '01JZZZZZZZZZZZZZZZZZZZZZZZ'

async function askOf(kind: JobKind, input: unknown): Promise<KeyedAsk> {
  const ask = await prepareAsk(kind, input, { options: {}, now: 0, maxPayload: 1_000 })
  if (!isKeyed(ask)) throw new Error('the ask has no key')
  return ask
}

async function step(
  kind: JobKind,
  input: unknown,
  existing: { readonly payload: string | null; readonly carry?: string },
): Promise<MergeStep> {
  const ask = await askOf(kind, input)
  const look: KeyLook & { job_id: string } = {
    repeated: null,
    repeated_at: null,
    merged_into: null,
    merged_as: null,
    merged_at: null,
    running: null,
    job_id: ID,
    row_place: '(0,1)',
    row_version: '1',
    run: 2,
    failures: 1,
    carry: null,
    ...existing,
  }
  return mergeStep(ask, look, { maxPayload: 1_000, journal: () => Promise.resolve([]) })
}

const numbers = typed<{ n: number }>()

const withRule = (merge: 'keep' | 'replace' | 'independent'): JobKind =>
  defineJob('x', { input: numbers, dedup: 'k', merge })

test('D2: the words say what becomes of the job', async () => {
  const existing = { payload: '{"n":1}' }
  expect(await step(withRule('keep'), { n: 2 }, existing)).toEqual({ type: 'keep' })
  expect(await step(withRule('independent'), { n: 2 }, existing)).toEqual({ type: 'independent' })
  const replaced = { type: 'replace', payload: '{"n":2}' }
  expect(await step(withRule('replace'), { n: 2 }, existing)).toEqual(replaced)
})

test('D2: a function sees both sides as they are stored, with carry, runs, failures and journal', async () => {
  const seen: unknown[] = []
  const kind = defineJob('x', {
    input: z.object({ n: z.string().transform(Number) }),
    carry: { page: 0 },
    dedup: 'k',
    merge: (existing, incoming) => {
      seen.push(existing, incoming)
      return { input: { n: existing.input.n + incoming.input.n }, carry: { page: 7 } }
    },
  })
  const result = await step(kind, { n: '2' }, { payload: '{"n":"1"}', carry: '{"page":3}' })
  expect(seen).toEqual([
    { id: ID, run: 2, failures: 1, input: { n: '1' }, carry: { page: 3 }, journal: [] },
    { input: { n: '2' }, carry: { page: 0 } },
  ])
  expect(result).toEqual({ type: 'merge', payload: '{"n":"12"}', carry: '{"page":7}' })
})

test('D2: what a function writes to the sides it is shown changes nothing of the caller', async () => {
  const kind = defineJob('x', {
    input: typed<{ list: number[] }>(),
    carry: { seen: [] as number[] },
    dedup: 'k',
    merge: (existing, incoming) => {
      incoming.input.list.push(9)
      incoming.carry.seen.push(9)
      existing.carry.seen.push(9)
      return 'replace'
    },
  })
  const input = { list: [1] }
  expect(await step(kind, input, { payload: '{"list":[]}' })).toEqual({
    type: 'replace',
    payload: '{"list":[1]}',
  })
  expect(input).toEqual({ list: [1] })
  expect(definitionOf(kind).carry).toEqual({ value: { seen: [] } })
})

test('D7: of a debounced key the latest input counts, whatever merge says', async () => {
  const kind = defineJob('x', {
    input: numbers,
    dedup: { key: 'k', debounce: '1s' },
    merge: 'keep',
  })
  expect(await step(kind, { n: 2 }, { payload: '{"n":1}' })).toMatchObject({ type: 'replace' })
})

const input = z.object({ n: z.number() })
const never = (): never => {
  throw new Error('it was shown what cannot be read')
}
const carry = ({ n }: { n: number }): { n: number } => {
  if (n === 1) throw new Error('no carry of 1')
  return { n }
}

describe('D6: a job that cannot be read', () => {
  test('is overwritten by a replacement', async () => {
    const kind = defineJob('x', { input, dedup: 'k' })
    expect(await step(kind, { n: 2 }, { payload: '{"m":1}' })).toMatchObject({ type: 'replace' })
  })

  test('is not shown to a function: the ask becomes a job of its own', async () => {
    const kind = defineJob('x', { input, dedup: 'k', merge: never })
    expect(await step(kind, { n: 2 }, { payload: '{"m":1}' })).toEqual({ type: 'independent' })
  })

  test('nor one whose carry cannot be made', async () => {
    const kind = defineJob('x', { input, carry, dedup: 'k', merge: never })
    expect(await step(kind, { n: 2 }, { payload: '{"n":1}' })).toEqual({ type: 'independent' })
  })

  test('nor one without a body, which not even a replacement could mend', async () => {
    const kind = defineJob('x', { input, dedup: 'k' })
    expect(await step(kind, { n: 2 }, { payload: null })).toEqual({ type: 'independent' })
  })
})

test.each<readonly [what: string, merge: () => unknown, message: string]>([
  [
    'throws',
    () => {
      throw new RangeError('no')
    },
    'no',
  ],
  ['answers nonsense', () => 'both', 'no promise'],
  ['answers a promise', () => Promise.resolve('keep'), 'no promise'],
  ['answers what JSON cannot hold', () => ({ input: { n: 1n } }), 'invalid input'],
  ['answers what the schema refuses', () => ({ input: { n: 'one' } }), 'invalid input'],
  ['answers too much', () => ({ input: { n: 1, text: 'x'.repeat(2_000) } }), '1000'],
])('D2: a merge function that %s is the error of the asker', async (_what, merge, message) => {
  // @ts-expect-error a JavaScript caller's slip
  const kind = defineJob('x', { input: z.looseObject({ n: z.number() }), dedup: 'k', merge })
  await expect(step(kind, { n: 2 }, { payload: '{"n":1}' })).rejects.toThrow(message)
})
