import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordedError } from '../../src/core/recorded-error.ts'
import { recordError } from '../../src/core/recorded-error.ts'

const LIMIT = 32_000

function bytesOf(recorded: RecordedError): number {
  return Buffer.byteLength(JSON.stringify(recorded))
}

test('an error is recorded with name, message, code and stack', () => {
  const error = Object.assign(new TypeError('no route'), { code: 'ECONNREFUSED' })
  expect(recordError(error)).toEqual({
    name: 'TypeError',
    message: 'no route',
    code: 'ECONNREFUSED',
    stack: error.stack,
    truncated: false,
  })
})

test('a numeric code is kept as text, another one is not', () => {
  expect(recordError(Object.assign(new Error('x'), { code: 404 })).code).toBe('404')
  expect(recordError(Object.assign(new Error('x'), { code: { a: 1 } })).code).toBeNull()
})

test('replay 1: U+0000 in a message is made safe and stays readable', () => {
  expect(recordError(new Error('bad \u0000 byte \uD800')).message).toBe('bad \uFFFD byte \uFFFD')
  expect(recordError(new Error('bad \u0000 byte')).stack).not.toContain('\u0000')
})

test('replay 3: the six literal characters \\u0000 are left alone', () => {
  expect(recordError(new Error('\\u0000')).message).toBe('\\u0000')
})

describe('replay 5: O2: what is thrown need not be an error', () => {
  test.each([
    ['a string', 'boom', 'boom'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 42, '42'],
    ['a bigint', 42n, '42n'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object', { status: 500, body: [1, 2] }, '{ status: 500, body: [ 1, 2 ] }'],
    ['an array', ['a'], "[ 'a' ]"],
  ])('%s', (_name, thrown, message) => {
    expect(recordError(thrown)).toEqual({
      name: 'NonError',
      message,
      code: null,
      stack: null,
      truncated: false,
    })
  })

  test('a function', () => {
    expect(recordError(() => 1).message).toContain('[Function')
  })

  test('an object that looks like an error is one, also of another realm', () => {
    expect(recordError({ name: 'HttpError', message: 'gone' })).toMatchObject({
      name: 'HttpError',
      message: 'gone',
      stack: null,
    })
    expect(recordError(runInNewContext('new RangeError("far")'))).toMatchObject({
      name: 'RangeError',
      message: 'far',
    })
  })

  test('its custom inspection is not run', () => {
    const thrown = {
      [Symbol.for('nodejs.util.inspect.custom')]: () => {
        throw new Error('no')
      },
    }
    expect(recordError(thrown).name).toBe('NonError')
  })
})

describe('O2: causes', () => {
  test('are kept with their stacks, up to five', () => {
    let error = new Error('cause 7')
    for (let depth = 6; depth >= 0; depth -= 1) {
      error = new Error(`cause ${depth}`, { cause: error })
    }
    const { stack, truncated } = recordError(error)
    expect(stack?.match(/Caused by: Error: cause \d/g)?.length).toBe(5)
    expect(stack).toContain('Caused by: Error: cause 5\n    at ')
    expect(stack).toContain('[more causes]')
    expect(truncated).toBe(true)
  })

  test('may be strings', () => {
    expect(recordError(new Error('x', { cause: 'the disk' })).stack).toContain(
      'Caused by: NonError: the disk',
    )
  })

  test('replay 5: may be circular', () => {
    const first = new Error('first')
    const second = new Error('second', { cause: first })
    first.cause = second
    expect(recordError(first).stack).toMatch(/Caused by: Error: second[^]*circular\)$/)
    first.cause = first
    expect(recordError(first).stack).toContain('circular')
  })
})

test('replay 5: an AggregateError of 1 000 lists the first five and the count', () => {
  const errors = Array.from({ length: 1_000 }, (_, index) => new Error(`part ${index}`))
  const { message, stack } = recordError(new AggregateError(errors, 'all failed'))
  expect(message).toBe('all failed')
  expect(stack).toContain('[1 of 1000] Error: part 0')
  expect(stack).toContain('[5 of 1000] Error: part 4')
  expect(stack).not.toContain('part 5')
})

describe('replay 5: O2: nothing is too large', () => {
  test('a stack of 5 MB', () => {
    const error = new Error('big')
    error.stack = `Error: big\n${'    at frame (file.js:1:1)\n'.repeat(200_000)}`
    const recorded = recordError(error)
    expect(recorded.truncated).toBe(true)
    expect(recorded.stack).toMatch(/^Error: big\n {4}at frame[^]*… \[truncated\]$/)
    expect(bytesOf(recorded)).toBeLessThanOrEqual(LIMIT)
  })

  test('a message of 5 MB leaves room for the frames', () => {
    const recorded = recordError(new Error('m'.repeat(5_000_000)))
    expect(recorded.message).toMatch(/^m{100,}… \[truncated\]$/)
    expect(recorded.stack).toContain('recorded-error.test.ts')
    expect(bytesOf(recorded)).toBeLessThanOrEqual(LIMIT)
  })

  test('five causes of 5 MB beside a stack of 5 MB all have their place', () => {
    let error = new Error('z'.repeat(5_000_000))
    for (const letter of 'yxwvu') error = new Error(letter.repeat(5_000_000), { cause: error })
    error.stack = 'huge '.repeat(1_000_000)
    const recorded = recordError(error)
    for (const letter of 'vwxy') expect(recorded.stack).toContain(`Caused by: Error: ${letter}`)
    expect(bytesOf(recorded)).toBeLessThanOrEqual(LIMIT)
  })

  test('control characters, which take six bytes of JSON each', () => {
    const error = Object.assign(new Error('\u001b'.repeat(50_000)), {
      name: '\u0001'.repeat(5_000),
      code: '\u0002'.repeat(5_000),
      stack: '\u0003'.repeat(50_000),
    })
    expect(bytesOf(recordError(error))).toBeLessThanOrEqual(LIMIT)
  })

  test('any text in any place', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40_000, size: 'max' })
    fc.assert(
      fc.property(text, text, text, (message, stack, code) => {
        const recorded = recordError(Object.assign(new Error(message), { stack, code }))
        expect(bytesOf(recorded)).toBeLessThanOrEqual(LIMIT)
        const all = JSON.stringify(recorded)
        expect(all).not.toContain('\\u0000')
        expect(all).not.toMatch(/\\ud[89a-f]/i)
      }),
      { numRuns: 50 },
    )
  })

  test('an object with a million members is not slow', () => {
    const wide = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, index) => [index, index]))
    const begun = performance.now()
    expect(bytesOf(recordError(wide))).toBeLessThanOrEqual(LIMIT)
    expect(performance.now() - begun).toBeLessThan(5_000)
  })
})

describe('replay 5: O2: nothing that is thrown can make the record fail', () => {
  test.each([
    ['message', '(no readable message)'],
    ['name', 'fine'],
    ['stack', 'fine'],
    ['code', 'fine'],
    ['cause', 'fine'],
    ['errors', 'fine'],
  ])('a getter of %s that throws', (property, message) => {
    expect(recordError(hostile(property))).toMatchObject({ name: 'Error', message })
  })

  test('a hostile cause and hostile members', () => {
    const error = new AggregateError([hostile('message')], 'some', { cause: hostile('name') })
    expect(recordError(error).message).toBe('some')
  })

  test('proxies: one that throws, one that was revoked, one that answers functions', () => {
    const throwing = new Proxy(new Error('x'), {
      get: () => {
        throw new Error('hostile')
      },
    })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const odd = new Proxy({}, { get: () => () => 1 })
    for (const thrown of [throwing, proxy, odd]) {
      expect(typeof recordError(thrown).message).toBe('string')
    }
    expect(recordError(new AggregateError([proxy], 'x', { cause: proxy })).message).toBe('x')
  })

  test('values of every shape', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withNullPrototype: true,
    })
    fc.assert(
      fc.property(anything, (thrown) => {
        expect(bytesOf(recordError(thrown))).toBeLessThanOrEqual(LIMIT)
      }),
    )
  })
})

function hostile(property: string): Error {
  return Object.defineProperty(new Error('fine'), property, {
    get: () => {
      throw new Error('hostile')
    },
  })
}
