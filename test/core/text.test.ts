import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteLength, storableText } from '../../src/core/text.ts'

const MARK = '… [truncated]'

test('byteLength counts UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(byteLength(text)).toBe(Buffer.byteLength(text))
    }),
  )
})

test('O2: U+0000 and halves of surrogate pairs become U+FFFD', () => {
  expect(storableText('a\u0000b\uD800c\uDC00d', 100)).toEqual({
    text: 'a\uFFFDb\uFFFDc\uFFFDd',
    truncated: false,
  })
  expect(storableText('whole: 😀', 100)).toEqual({ text: 'whole: 😀', truncated: false })
})

test('O2: text that does not fit is cut before the first code point that does not, with a mark', () => {
  expect(storableText('x'.repeat(20), 20)).toEqual({ text: 'x'.repeat(20), truncated: false })
  expect(storableText('x'.repeat(21), 20)).toEqual({ text: `xxxxx${MARK}`, truncated: true })
  expect(storableText('😀'.repeat(6), 22).text).toBe(`😀${MARK}`)
  expect(storableText('😀'.repeat(6), 23).text).toBe(`😀😀${MARK}`)
})

test('U+0000 may not grow a text beyond its limit: U+FFFD is three bytes', () => {
  const { text, truncated } = storableText('\u0000'.repeat(30), 30)
  expect(truncated).toBe(true)
  expect(text).toBe('\uFFFD'.repeat(5) + MARK)
})

test('O2: whatever the text and the limit, it fits, is well-formed, and is marked when cut', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'é', '€', '😀', '\uD83D', '\uDE00', '\u0000'),
  })
  fc.assert(
    fc.property(text, fc.integer({ min: -2, max: 60 }), (given, limit) => {
      const stored = storableText(given, limit)
      expect(byteLength(stored.text)).toBeLessThanOrEqual(Math.max(0, limit))
      expect(stored.text.isWellFormed()).toBe(true)
      expect(stored.text).not.toContain('\u0000')
      const clean = given.replaceAll('\u0000', '\uFFFD').toWellFormed()
      expect(stored.truncated).toBe(stored.text !== clean)
      const isMarked = stored.text.endsWith(MARK)
      expect(isMarked).toBe(stored.truncated && limit >= 15)
    }),
  )
})

test('replay 5: 5 MB are cut without being walked', () => {
  const huge = '\uD800'.repeat(5_000_000)
  expect(byteLength(storableText(huge, 1_000).text)).toBeLessThanOrEqual(1_000)
})
