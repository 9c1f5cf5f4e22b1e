import { expect, test } from 'vitest'
import { InvalidOptionError } from '../../src/errors.ts'
import { decisionFrom, readMerge } from '../../src/jobs/merge-rule.ts'

test('D2: replace is what happens unless the kind says otherwise', () => {
  expect(readMerge(undefined)).toBe('replace')
  expect(readMerge('keep')).toBe('keep')
})

test.each([['override'], [5], [null], [{ input: 1 }]])('D2: the rule %j is refused', (value) => {
  expect(() => readMerge(value)).toThrow(InvalidOptionError)
})

test('D2: a merge function answers a word, or what the job goes on with', () => {
  expect(decisionFrom('keep', false)).toBe('keep')
  expect(decisionFrom({ input: 1 }, false)).toEqual({ input: 1, carry: undefined })
  expect(decisionFrom({ input: undefined }, false)).toEqual({ input: undefined, carry: undefined })
  expect(decisionFrom({ input: 1, carry: 2 }, true)).toEqual({ input: 1, carry: 2 })
  // What is spread from a side of a kind without carry.
  expect(decisionFrom({ input: 1, carry: undefined }, false)).toEqual({ input: 1 })
})

class Thenable {
  // oxlint-disable-next-line unicorn/no-thenable -- what a caller should not do
  then(): void {}
}

const nonsense: readonly (readonly [what: string, answer: unknown, hasCarry: boolean])[] = [
  ['nothing', undefined, false],
  ['null', null, false],
  ['another word', 'merge', false],
  ['an input by itself', 5, false],
  ['no input', { carry: 1 }, true],
  ['no carry where the kind has one', { input: 1 }, true],
  ['a carry where the kind has none', { input: 1, carry: 2 }, false],
  ['a promise', Promise.resolve('keep'), false],
  ['a thenable in disguise', Object.assign(new Thenable(), { input: 1 }), false],
]

test.each(nonsense)(
  'D2: a merge function that answers %s is an error',
  (_what, answer, hasCarry) => {
    const decide = (): unknown => decisionFrom(answer, hasCarry)
    expect(decide).toThrow(InvalidOptionError)
    expect(decide).toThrow(hasCarry ? '{ input, carry }' : '{ input }')
  },
)

test('D2: an asynchronous merge function that rejects later ends no process', async () => {
  const unheard: unknown[] = []
  const listener = (reason: unknown): void => void unheard.push(reason)
  process.on('unhandledRejection', listener)
  const rejected = Promise.reject(new Error('too late'))
  expect(() => decisionFrom(rejected, false)).toThrow('no promise')
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  process.off('unhandledRejection', listener)
  expect(unheard).toEqual([])
})
