import { expect, test } from 'vitest'
import { InvalidNameError, InvalidOptionError } from '../../src/errors.ts'
import { keyOf, readDedup } from '../../src/jobs/dedup.ts'
import { defineJob } from '../../src/jobs/kind.ts'

const key = (input: unknown): unknown => input

test.each<readonly [what: string, given: unknown, mode: object]>([
  ['a text', 'k', { type: 'pending' }],
  ['a function', key, { type: 'pending' }],
  ['a key alone', { key }, { type: 'pending' }],
  ['scope pending', { key, scope: 'pending' }, { type: 'pending' }],
  ['scope live', { key, scope: 'live' }, { type: 'live', rerun: false }],
  ['rerun', { key, scope: 'live', rerun: true }, { type: 'live', rerun: true }],
  ['throttle', { key, throttle: '5s' }, { type: 'throttle', windowMs: 5_000 }],
  ['debounce', { key, debounce: 200 }, { type: 'debounce', windowMs: 200, atMostMs: null }],
  [
    'debounce with a maximum',
    { key, debounce: '1s', atMost: '1m' },
    { type: 'debounce', windowMs: 1_000, atMostMs: 60_000 },
  ],
])('D7: %s says how asks of a key meet', (_what, given, mode) => {
  expect(readDedup(given).mode).toEqual(mode)
})

test.each<readonly [what: string, given: unknown, option: string]>([
  ['a number', 5, 'dedup'],
  ['no key', { scope: 'live' }, 'dedup.key'],
  ['a key that is a number', { key: 5 }, 'dedup.key'],
  ['an option that does not exist', { key, throtle: '5s' }, 'throtle'],
  ['a scope that does not exist', { key, scope: 'running' }, 'dedup.scope'],
  ['two ways at once', { key, throttle: '5s', debounce: '5s' }, 'dedup'],
  ['a scope beside a throttle', { key, scope: 'live', throttle: '5s' }, 'dedup'],
  ['rerun without live', { key, rerun: true }, 'dedup.rerun'],
  ['a rerun that is a text', { key, scope: 'live', rerun: 'yes' }, 'dedup.rerun'],
  ['atMost without debounce', { key, atMost: '5s' }, 'dedup.atMost'],
  ['no window', { key, throttle: 0 }, 'dedup.throttle'],
  ['a negative window', { key, debounce: '-5s' }, 'dedup.debounce'],
])('D7: defineJob refuses %s', (_what, given, option) => {
  const define = (): unknown => readDedup(given)
  expect(define).toThrow(InvalidOptionError)
  expect(define).toThrow(expect.objectContaining({ option }))
})

test('defineJob reads dedup and merge when the kind is defined', () => {
  // @ts-expect-error a JavaScript caller's slip
  expect(() => defineJob('x', { dedup: { key: 'k', scope: 'all' } })).toThrow(InvalidOptionError)
  // @ts-expect-error a JavaScript caller's slip
  expect(() => defineJob('x', { merge: 'override' })).toThrow(InvalidOptionError)
})

test('D1: the key of the call goes before the one of the kind, and undefined is none', () => {
  const rule = readDedup((input: unknown) => (input === 1 ? undefined : `k${String(input)}`))
  expect(keyOf(rule, 2, undefined)).toBe('k2')
  expect(keyOf(rule, 2, 'mine')).toBe('mine')
  expect(keyOf(rule, 1, undefined)).toBeNull()
  expect(keyOf(null, 1, undefined)).toBeNull()
  expect(keyOf(null, 1, 'mine')).toBe('mine')
})

test.each<readonly [what: string, key: unknown]>([
  ['is empty', ''],
  ['is a megabyte', 'k'.repeat(1_000_000)],
  ['is 1 001 bytes', 'é'.repeat(500) + 'k'],
  ['holds U+0000', 'a\u0000b'],
  ['holds half a surrogate pair', 'a\ud800'],
  ['is a number', 5],
  ['is null', null],
])('D1: a key that %s is refused with a short message', (_what, given) => {
  const rule = readDedup(() => given)
  const ask = (): unknown => keyOf(rule, {}, undefined)
  expect(ask).toThrow(InvalidNameError)
  expect(ask).toThrow(/^.{20,500}$/s)
})

test('D1: a key of 1 000 bytes is a key', () => {
  expect(keyOf(null, {}, 'é'.repeat(500))).toHaveLength(500)
})
