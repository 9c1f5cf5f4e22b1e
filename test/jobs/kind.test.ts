import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { typed } from '../../src/core/schema.ts'
import { InvalidNameError, InvalidOptionError } from '../../src/errors.ts'
import { definitionOf } from '../../src/jobs/definition.ts'
import { defineJob } from '../../src/jobs/kind.ts'

test('a kind is a frozen value that shows its name and nothing else', () => {
  const welcome = defineJob('welcome', { input: typed<{ userId: string }>(), queue: 'mail' })
  expect(Object.isFrozen(welcome)).toBe(true)
  expect(Object.keys(welcome)).toEqual(['name', 'is'])
  expect(JSON.stringify(welcome)).toBe('{"name":"welcome"}')
})

test('is() tells a record of this kind from others', () => {
  const welcome = defineJob('welcome')
  const record = { kind: 'welcome' }
  expect(Reflect.apply(welcome.is, undefined, [record])).toBe(true)
  expect(Reflect.apply(welcome.is, undefined, [{ kind: 'goodbye' }])).toBe(false)
})

test('a definition keeps the schema, the checked values and the functions apart', () => {
  const input = z.object({ vip: z.boolean() })
  const kind = defineJob('mail', {
    input,
    queue: 'mail',
    priority: ({ vip }) => (vip ? 'high' : undefined),
    retry: { failures: 3 },
    lease: '10s',
    keep: { completed: 0, dead: 'forever' },
  })
  const definition = definitionOf(kind)
  expect(definition).toMatchObject({ name: 'mail', input, keepsResult: false })
  expect(definition.settings).toEqual({
    queue: 'mail',
    failures: 3,
    leaseMs: 10_000,
    keepCompleted: 0,
    keepDead: null,
  })
  expect(definition.derived.map(({ option }) => option)).toEqual(['priority'])
})

test('only a declared result is kept', () => {
  expect(definitionOf(defineJob('a')).keepsResult).toBe(false)
  expect(definitionOf(defineJob('b', { result: typed<{ url: string }>() })).keepsResult).toBe(true)
})

test('a kind without input has none', () => {
  expect(definitionOf(defineJob('tick')).input).toBeNull()
})

test.each([['welcome'], [undefined], [null], [{ name: 'welcome' }]])(
  'what defineJob did not make is refused: %j',
  (kind) => {
    const read = (): unknown => Reflect.apply(definitionOf, undefined, [kind])
    expect(read).toThrow(InvalidOptionError)
    expect(read).toThrow('Pass what defineJob() returned, not a name.')
  },
)

test.each(['', ' ', 'millrace.sweep', 'x'.repeat(201), 'a\u0000'])(
  '§12: %j cannot be a kind',
  (name) => {
    expect(() => defineJob(name)).toThrow(InvalidNameError)
    expect(() => defineJob(name)).toThrow('cannot be a kind')
  },
)

describe('options are checked when the kind is defined', () => {
  test.each<[object, string]>([
    [{ attempts: 3 }, 'defineJob("k") has no such option. Use retry.failures.'],
    [{ retries: 3 }, 'Use retry.failures.'],
    [{ expireInSeconds: 3 }, 'Use timeout.'],
    [{ schema: z.string() }, 'Use input.'],
    [{ prioritty: 3 }, 'Did you mean priority?'],
    [{ delay: '5s' }, 'It has: input, result, carry, dedup, merge, queue'],
    [{ input: { userId: 'string' } }, 'it is no Standard Schema'],
    [{ result: 'string' }, 'it is no Standard Schema'],
    [{ queue: '' }, 'cannot be a queue'],
    [{ queue: 5 }, 'cannot be a queue'],
    [{ priority: 10 }, 'from 0 (first) to 9 (last)'],
    [{ priority: -1 }, 'from 0 (first) to 9 (last)'],
    [{ priority: 2.5 }, 'from 0 (first) to 9 (last)'],
    [{ priority: '5' }, 'from 0 (first) to 9 (last)'],
    [{ priority: 'urgent' }, 'option "priority" got "urgent"'],
    [{ priority: 'constructor' }, 'option "priority" got "constructor"'],
    [{ retry: 3 }, 'option "retry" got 3: it takes an object of: failures, backoff'],
    [{ retry: { failures: 0 } }, 'from 1 (a single run) to 1000000'],
    [{ retry: { failures: Infinity } }, 'from 1 (a single run)'],
    [{ retry: { failures: 2.5 } }, 'from 1 (a single run)'],
    [{ retry: { limit: 3 } }, 'retry has no such option. Use failures.'],
    [{ retry: { backoff: 'none' } }, '"retry.backoff" got "none"'],
    [{ lease: 0 }, '"lease" got 0'],
    [{ lease: '25d' }, 'at most 24 days fit'],
    [{ timeout: '-1s' }, 'cannot be negative'],
    [{ timeout: '25d' }, 'at most 24 days fit'],
    [{ expires: 0 }, '"expires" got 0'],
    [{ expires: new Date(NaN) }, '"expires" got "Invalid Date"'],
    [{ keep: '7d' }, 'an object of: completed, cancelled, dead'],
    [{ keep: { completed: 'always' } }, '"keep.completed" got "always"'],
    [{ keep: { failed: '1d' } }, 'Use dead.'],
  ])('%j', (options, message) => {
    expect(defining(options)).toThrow(message)
  })

  test('members that are undefined are not there', () => {
    const options = { queue: undefined, retry: { failures: undefined }, keep: {}, input: undefined }
    expect(definitionOf(defineJob('k', options)).settings).toEqual({})
  })
})

function defining(options: object): () => unknown {
  return () => Reflect.apply(defineJob, undefined, ['k', options])
}
