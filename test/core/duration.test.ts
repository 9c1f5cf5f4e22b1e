import { describe, expect, test } from 'vitest'
import { duration, milliseconds } from '../../src/core/duration.ts'
import { InvalidOptionError } from '../../src/errors.ts'

test.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
  ['2w', 1_209_600_000],
  ['1.5h', 5_400_000],
  ['1.005s', 1_005],
  ['0s', 0],
])('duration reads %s as %d ms', (text, expected) => {
  expect(duration(text)).toBe(expected)
})

test.each(['', ' ', '30', '5 m', '5M', '5 minutes', '1e3s', '.5s', '5y', '30s ', '0x10s', '١s'])(
  'duration refuses the text %j and quotes it',
  (text) => {
    expect(() => duration(text)).toThrow(InvalidOptionError)
    expect(() => duration(text)).toThrow(JSON.stringify(text))
    expect(() => duration(text)).toThrow("Write it like '30s'")
  },
)

test('duration refuses what is not text, as plain JavaScript may pass', () => {
  for (const value of [30, null, undefined, {}]) {
    expect(() => Reflect.apply(duration, undefined, [value])).toThrow('30s')
  }
})

describe('an option of a duration', () => {
  test('takes a number as milliseconds', () => {
    expect(milliseconds('delay', 1_500)).toBe(1_500)
  })

  test('§12: 0 is an error unless the option takes it', () => {
    expect(() => milliseconds('lease', 0)).toThrow('"lease" got 0: it must be longer than nothing')
    expect(() => milliseconds('lease', '0s')).toThrow('longer than nothing')
    expect(milliseconds('delay', 0, { zero: true })).toBe(0)
    expect(milliseconds('delay', '0ms', { zero: true })).toBe(0)
  })

  test('§12: a negative duration is an error also where 0 is not', () => {
    expect(() => milliseconds('delay', -1, { zero: true })).toThrow('cannot be negative')
    expect(() => milliseconds('delay', '-5s', { zero: true })).toThrow('"-5s": a duration cannot')
  })

  test('§12: beyond its limit it is an error and is not clamped', () => {
    expect(milliseconds('expires', days(36_525))).toBe(days(36_525))
    expect(() => milliseconds('expires', days(36_525) + 1)).toThrow('at most 36525 days fit')
    expect(() => milliseconds('expires', '9999999999w')).toThrow('at most 36525 days fit')
    expect(() => milliseconds('lease', '25d', { max: days(24) })).toThrow('at most 24 days fit')
    expect(() => milliseconds('lease', Infinity, { max: days(24) })).toThrow('at most 24 days fit')
  })

  test('a part of a millisecond is an error that says what to do', () => {
    expect(() => milliseconds('delay', 0.5)).toThrow('milliseconds are whole here. Round it.')
    expect(() => milliseconds('delay', '0.0001s')).toThrow('Round it.')
  })

  test.each([[NaN], [5n], [true], [null], [{}], [['5m']], [new Date(0)]])('refuses %s', (value) => {
    expect(() => milliseconds('delay', value)).toThrow(InvalidOptionError)
  })
})

function days(count: number): number {
  return count * 86_400_000
}
