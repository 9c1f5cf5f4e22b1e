import { describe, expect, test } from 'vitest'
import { checkKey, checkName, checkOptions } from '../../src/core/names.ts'
import { InvalidNameError, InvalidOptionError } from '../../src/errors.ts'

test.each([
  'mail',
  'two words',
  'ünïcödé 😀',
  'a',
  'x'.repeat(200),
  '€'.repeat(66),
  'millrace',
  '"',
])('§12: %j is a name', (name) => {
  expect(checkName('queue', name)).toBe(name)
})

test.each([
  ['', 'it is blank'],
  [' \t\n', 'it is blank'],
  ['\u2003', 'it is blank'],
  ['x'.repeat(201), '201 bytes in UTF-8, at most 200'],
  ['€'.repeat(67), '201 bytes'],
  ['a\u0000b', 'U+0000'],
  ['a\uD800', 'half of a surrogate pair'],
  ['millrace.internal', 'belong to Millrace'],
  [7, 'it is not text'],
  [null, 'it is not text'],
  [Symbol('x'), 'it is not text'],
])('§12: %j is no name, and the error says why', (name, why) => {
  expect(() => checkName('queue', name)).toThrow(InvalidNameError)
  expect(() => checkName('queue', name)).toThrow('cannot be a queue')
  expect(() => checkName('queue', name)).toThrow(why)
})

describe('§12: a key is data', () => {
  test.each([' ', 'millrace.x', 'k'.repeat(1_000)])('%j is one', (key) => {
    expect(checkKey('dedup key', key)).toBe(key)
  })

  test.each(['', 'k'.repeat(1_001), '\u0000', '\uDC00', 5])('%j is none', (key) => {
    expect(() => checkKey('dedup key', key)).toThrow(InvalidNameError)
  })
})

describe('checkOptions', () => {
  const known = ['queue', 'priority', 'retry', 'timeout', 'delay', 'at', 'keep', 'id', 'dedup']

  test('gives back what it was given when all is known', () => {
    const given = { queue: 'mail', at: undefined }
    expect(checkOptions('enqueue()', given, known)).toBe(given)
  })

  test.each([
    ['priorty', 'Did you mean priority?'],
    ['Queue', 'Did you mean queue?'],
    ['timeOut', 'Did you mean timeout?'],
    ['attempts', 'Use retry.failures.'],
    ['retryLimit', 'Use retry.failures.'],
    ['maxAttempts', 'Use retry.failures.'],
    ['backoff', 'Use retry.backoff.'],
    ['startAfter', 'Use delay or at.'],
    ['runAt', 'Use at.'],
    ['expireInSeconds', 'Use timeout.'],
    ['jobKey', 'Use dedup.'],
    ['singletonKey', 'Use dedup.'],
    ['queueName', 'Use queue.'],
    ['jobId', 'Use id.'],
    ['removeOnComplete', 'Use keep.completed.'],
    ['toString', 'It has: queue, priority'],
    ['wholly different', 'It has: queue, priority'],
  ])('an unknown option %s is an error: %s', (option, cure) => {
    const check = (): unknown => checkOptions('enqueue()', { [option]: 1 }, known)
    expect(check).toThrow(InvalidOptionError)
    expect(check).toThrow(`option "${option}" got 1: enqueue() has no such option. ${cure}`)
  })

  test('a peer’s word is not answered with an option that does not exist there', () => {
    expect(() => checkOptions('retry', { jobKey: 1 }, ['failures', 'backoff'])).toThrow(
      'It has: failures, backoff.',
    )
  })

  test('words of peers are known inside an option as well', () => {
    expect(() => checkOptions('retry', { attempts: 3 }, ['failures', 'backoff'])).toThrow(
      'Use failures.',
    )
  })

  test.each([[undefined], [null], [5], ['x'], [[]]])('%j is no options', (given) => {
    expect(() => checkOptions('retry', given, ['failures'])).toThrow('an object of: failures')
  })
})
