import { expect, test } from 'vitest'
import { milliseconds } from '../../src/core/duration.ts'
import { encodeJson } from '../../src/core/json.ts'
import { checkKey, checkName, checkOptions } from '../../src/core/names.ts'
import { recordError } from '../../src/core/recorded-error.ts'
import { urlsByHost, withoutPassword } from '../../src/database/drivers/connection-url.ts'
import { parseHint } from '../../src/database/hint.ts'
import { namespace } from '../../src/database/namespace.ts'
import { decodeEvents } from '../../src/jobs/event-text.ts'
import { checkCron } from '../../src/schedules/cron.ts'
import { isZone } from '../../src/schedules/zone.ts'

// A million characters, made to send a pattern with a bad form back and forth.
const MILLION = 1_000_000
const long = (text: string): string => text.repeat(MILLION / text.length)
const HOSTILE = [
  'a',
  ' ',
  ':',
  '@',
  "'",
  '1',
  ',',
  '*/1,',
  '$a.',
  '\\',
  '{{',
  'password=',
  '1-',
  '\u0000',
]

// Linear work on a million characters takes some milliseconds; what is quadratic takes minutes.
const WITHIN = 2_000

test.each(HOSTILE)(
  'a million characters of %j are refused or read at once, wherever text is read',
  (part) => {
    const text = long(part)
    const began = performance.now()
    for (const read of READERS) {
      try {
        read(text)
      } catch {
        // Refused: what counts is how soon.
      }
    }
    expect(performance.now() - began).toBeLessThan(WITHIN)
  },
)

const READERS: readonly ((text: string) => unknown)[] = [
  (text) => milliseconds('delay', text),
  (text) => milliseconds('delay', `${text}s`),
  (text) => checkName('queue', text),
  (text) => checkKey('key', text),
  (text) => checkOptions('enqueue()', { [text]: 1 }, ['delay', 'priority', 'expires']),
  (text) => checkCron(text),
  (text) => checkCron(`* * * * ${text}`),
  (text) => isZone(text),
  (text) => withoutPassword(text),
  (text) => withoutPassword(`postgres://${text}`),
  (text) => urlsByHost(`postgres://${text}@${text}`),
  (text) => parseHint(`due ${text}`),
  (text) => parseHint(`sequenced ${text}`),
  (text) => decodeEvents(text),
  (text) => namespace(text),
  (text) => recordError(new Error(text)),
  (text) => encodeJson({ [text]: [text] }),
]

test.each([
  [
    'a list of every minute',
    `${Array.from({ length: 60 }, (_, minute) => minute).join(',')} * * * *`,
  ],
  ['ranges within ranges', `${'0-59,'.repeat(150)}0 * * * *`],
  ['a day that comes once in years', '0 0 29 2 MON'],
  ['a day that never comes', '0 0 30 2 *'],
  ['the last of each month', '0 0 L * *'],
  ['as long as it may be', `${'0,'.repeat(490)}0 * * * *`],
])('a cron pattern is read in bounded time: %s', (_what, pattern) => {
  const began = performance.now()
  try {
    checkCron(pattern)
  } catch {
    // Refused: what counts is how soon.
  }
  expect(performance.now() - began).toBeLessThan(WITHIN)
})

test('an option whose name is very long is refused with the list, not with a guess', () => {
  expect(() => checkOptions('enqueue()', { [long('d')]: 1 }, ['delay'])).toThrow(
    /^option "d{100}\.\.\." got 1: enqueue\(\) has no such option\. It has: delay\.$/,
  )
})

test('members named like those of every object are data like any other', () => {
  const text = '{"__proto__":{"isAdmin":true},"constructor":1}'
  expect(encodeJson(JSON.parse(text))).toBe(text)
  expect(() => checkOptions('enqueue()', JSON.parse(text), ['delay'])).toThrow('no such option')
  expect(Reflect.get({}, 'isAdmin')).toBeUndefined()
})
