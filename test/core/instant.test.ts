import { expect, test } from 'vitest'
import { instant } from '../../src/core/instant.ts'
import { InvalidOptionError } from '../../src/errors.ts'

test('an instant is a Date, in epoch milliseconds', () => {
  expect(instant('at', new Date(1_234))).toBe(1_234)
})

test('an invalid Date is an error that names the option', () => {
  expect(() => instant('at', new Date('soon'))).toThrow('option "at" got "Invalid Date"')
})

test.each([['2026-01-01'], [0], [null], [{}]])('%j is not an instant', (value) => {
  expect(() => instant('at', value)).toThrow(InvalidOptionError)
})
