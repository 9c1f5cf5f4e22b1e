import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeJson, encodeJson, UnencodableError } from '../../src/core/json.ts'

class Point {
  readonly x = 1
  readonly y = 2
  length(): number {
    return Math.hypot(this.x, this.y)
  }
}

class Money {
  readonly amount = 5n
  toJSON(): string {
    return '5'
  }
}

function refused(value: unknown): UnencodableError {
  try {
    encodeJson(value)
  } catch (error) {
    if (error instanceof UnencodableError) return error
    throw error
  }
  throw new Error('it was encoded')
}

test('E6: every JSON value comes back as it went in', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(decodeJson(encodeJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      expect(encodeJson(value)).toBe(JSON.stringify(value))
    }),
  )
})

test('E6: undefined members vanish, and nothing else does', () => {
  expect(encodeJson({ a: undefined, b: { c: undefined, d: null } })).toBe('{"b":{"d":null}}')
})

test('no value at all is stored as null', () => {
  expect(encodeJson(undefined)).toBe('null')
})

test('replay 3: U+0000, lone surrogates and the six characters \\u0000 come back', () => {
  const value = { nul: '\u0000', half: '\uD800', six: '\\u0000', ['\u0000']: 1 }
  expect(encodeJson(value)).not.toContain('\u0000')
  expect(encodeJson(value)).not.toContain('\uD800')
  expect(decodeJson(encodeJson(value))).toEqual(value)
})

test('keys that mean something to JavaScript are data', () => {
  const text = '{"__proto__":{"admin":true},"constructor":1,"toString":2}'
  expect(encodeJson(decodeJson(text))).toBe(text)
})

test.each([
  ['a bigint', 5n, 'JSON has no bigint'],
  ['NaN', NaN, 'NaN would be stored as null'],
  ['Infinity', -Infinity, '-Infinity would be stored as null'],
  ['a function', () => 1, 'JSON has no function'],
  ['a symbol', Symbol('x'), 'JSON has no symbol'],
  ['a Date', new Date(0), 'Pass date.toISOString()'],
  ['an invalid Date', new Date(NaN), 'Pass date.toISOString()'],
  ['a Map', new Map([[1, 2]]), 'Pass Object.fromEntries(map)'],
  ['a Set', new Set([1]), 'Pass [...set]'],
  ['bytes', new Uint8Array(2), 'Pass them as base64 text'],
  ['a Buffer', Buffer.from('x'), 'Pass them as base64 text'],
  ['an ArrayBuffer', new ArrayBuffer(2), 'Pass them as base64 text'],
  ['a DataView', new DataView(new ArrayBuffer(2)), 'Pass them as base64 text'],
  ['a RegExp', /x/, 'the object (RegExp)'],
  ['an Error', new TypeError('x'), 'the object (Error)'],
  ['a Promise', Promise.resolve(1), 'the object (Promise)'],
  ['a URL', new URL('http://localhost'), 'Pass what toJSON() returns'],
  ['URLSearchParams', new URLSearchParams('a=1'), 'the object (URLSearchParams)'],
  ['a boxed number', Object(1), 'the object (Number)'],
  ['a toJSON of its own', new Money(), 'Pass what toJSON() returns'],
  ['a Date of another realm', runInNewContext('new Date(0)'), 'Pass date.toISOString()'],
])('E6: %s is an error that names the path and the cure', (_name, value, reason) => {
  expect(refused(value).path).toBe('')
  const error = refused({ items: [0, { 'unit price': value }] })
  expect(error.path).toBe('items[1]["unit price"]')
  expect(error.segments).toEqual(['items', 1, 'unit price'])
  expect(error.reason).toContain(reason)
  expect(error.message).toBe(`${error.path}: ${error.reason}`)
})

test('E6: undefined and holes in arrays are errors: they would become null', () => {
  expect(refused({ list: [1, undefined] }).path).toBe('list[1]')
  const sparse: unknown[] = []
  sparse[3] = 1
  expect(refused(sparse).path).toBe('[0]')
})

test('a patched BigInt.prototype does not change that', () => {
  Object.assign(BigInt.prototype, { toJSON: () => '5' })
  try {
    expect(refused({ amount: 5n }).path).toBe('amount')
  } finally {
    Reflect.deleteProperty(BigInt.prototype, 'toJSON')
  }
})

test('instances of plain classes are stored by their own members', () => {
  expect(encodeJson(new Point())).toBe('{"x":1,"y":2}')
  expect(encodeJson(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
  expect(encodeJson(runInNewContext('({ a: [1] })'))).toBe('{"a":[1]}')
})

describe('E6: cycles and depth', () => {
  test('an object that holds itself is an error naming where', () => {
    const order: { lines: unknown[] } = { lines: [] }
    order.lines.push({ order })
    expect(refused(order).path).toBe('lines[0].order')
    expect(refused(order).reason).toContain('holds itself')
  })

  test('the same object twice is not a cycle', () => {
    const shared = { a: 1 }
    expect(encodeJson([shared, { shared }])).toBe('[{"a":1},{"shared":{"a":1}}]')
  })

  test('a wide object with a cycle is found at once', () => {
    const wide: Record<string, unknown> = { many: Array.from({ length: 100_000 }, () => ({})) }
    wide['self'] = wide
    expect(refused(wide).path).toBe('self')
  })

  test('100 000 nested arrays are an error and not a crash', () => {
    let nested: unknown[] = []
    for (let level = 0; level < 100_000; level += 1) nested = [nested]
    expect(refused(nested).reason).toContain('deeper than 1000 levels')
    expect(refused(nested).segments.length).toBe(1_000)
  })

  test('1 000 levels are fine', () => {
    let nested: unknown[] = []
    for (let level = 1; level < 1_000; level += 1) nested = [nested]
    expect(encodeJson(nested)).toBe('['.repeat(1_000) + ']'.repeat(1_000))
  })
})

test.each([
  [
    'a getter that throws',
    {
      get boom() {
        throw new Error('no')
      },
    },
  ],
  [
    'a proxy that throws',
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    ),
  ],
])('%s is an error that keeps its cause', (_name, value) => {
  expect(refused(value).cause).toEqual(new Error('no'))
})

test('a revoked proxy is an error', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  expect(refused(proxy).cause).toBeInstanceOf(TypeError)
})

test('decodeJson throws SyntaxError for what is not JSON', () => {
  expect(() => decodeJson('{')).toThrow(SyntaxError)
})
