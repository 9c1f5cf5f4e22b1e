import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { translateError } from '../../src/database/drivers/translate-error.ts'
import { DatabaseError } from '../../src/errors.ts'

const sent = { statement: 'claim', mayHaveApplied: true }

function coded(code: string, message = 'words'): Error {
  return Object.assign(new Error(message), { code })
}

test.each([
  // code, retryable, outcome unknown
  ['08006', true, true],
  ['08P01', true, true],
  ['25006', true, false],
  ['25P02', false, false],
  ['25P03', true, true],
  ['40001', true, false],
  ['40P01', true, false],
  ['53300', true, false],
  ['53100', true, false],
  ['55P03', true, false],
  ['57014', true, false],
  ['57P01', true, true],
  ['57P02', true, true],
  ['57P03', true, true],
  ['57P05', true, true],
  ['22P02', false, false],
  ['23505', false, false],
  ['28P01', false, false],
  ['42P01', false, false],
  ['P0001', false, false],
  ['XX000', false, false],
])('SQLSTATE %s: retryable %s, unknown %s', (code, retryable, outcomeUnknown) => {
  expect(translateError(coded(code), sent)).toMatchObject({
    sqlstate: code,
    statement: 'claim',
    retryable,
    outcomeUnknown,
  })
})

test.each([
  coded('ECONNRESET'),
  coded('ECONNREFUSED'),
  coded('EPIPE'),
  coded('ETIMEDOUT'),
  coded('ENOTFOUND'),
  coded('CONNECTION_CLOSED'),
  coded('CONNECT_TIMEOUT'),
  new Error('Connection terminated'),
  new Error('Connection terminated unexpectedly'),
  new Error('timeout expired'),
  new Error('Client has encountered a connection error and is not queryable'),
  Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' }),
])('$code $message is a lost connection', (error) => {
  expect(translateError(error, sent)).toMatchObject({
    sqlstate: null,
    retryable: true,
    outcomeUnknown: true,
    cause: error,
  })
})

test('an error without a message shows its code', () => {
  const error = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
  const { message } = translateError(error, { statement: null, mayHaveApplied: false })
  expect(message).toMatch(/^connecting to the database failed: ECONNREFUSED\. /)
})

test('what could not have taken effect is never unknown', () => {
  const context = { statement: 'claim', mayHaveApplied: false }
  expect(translateError(coded('57P01'), context).outcomeUnknown).toBe(false)
  expect(translateError(coded('ECONNRESET'), context).outcomeUnknown).toBe(false)
})

test('detail, where and quoted values stay out of the message', () => {
  const error = Object.assign(coded('22P02', 'invalid input syntax for type json: "geheim"'), {
    detail: 'Token "geheim" is invalid.',
    where: 'JSON data, line 1: geheim',
  })
  expect(translateError(error, sent).message).not.toContain('geheim')
})

test('what a query builder wraps around a lost connection, with its parameters, is not kept', () => {
  const driver = coded('ECONNRESET')
  const wrapped = new Error('Failed query: insert … params: geheim', { cause: driver })
  const translated = translateError(wrapped, sent)
  expect(translated).toMatchObject({ sqlstate: null, retryable: true, cause: driver })
  expect(inspect(translated)).not.toContain('geheim')
})

test('members of the cause that hold values are there, and not listed', () => {
  const driver = Object.assign(coded('23514', 'violates check'), {
    detail: 'row (geheim)',
    table: 'jobs',
  })
  const { cause } = translateError(driver, sent)
  expect(inspect(cause)).not.toContain('geheim')
  expect(inspect(cause)).toContain('jobs')
  expect(cause).toHaveProperty('detail', 'row (geheim)')
})

test("the driver's error is found under what a query builder wraps around it", () => {
  const driver = coded('23505', 'duplicate key')
  const wrapped = new Error('Failed query: insert … params: geheim', { cause: driver })
  const typeorm = Object.assign(new Error('QueryFailedError: geheim'), { driverError: driver })
  for (const error of [wrapped, typeorm]) {
    const translated = translateError(error, sent)
    expect(translated).toMatchObject({ sqlstate: '23505', cause: driver })
    expect(translated.message).not.toContain('geheim')
  }
})

test('a DatabaseError passes as it is', () => {
  const error = translateError(coded('23505'), sent)
  expect(translateError(error, { statement: 'other', mayHaveApplied: false })).toBe(error)
})

test.each([undefined, null, 'text', 0, {}, new TypeError('x is not a function')])(
  'anything else (%s) is not retryable',
  (thrown) => {
    const error = translateError(thrown, sent)
    expect(error).toBeInstanceOf(DatabaseError)
    expect(error).toMatchObject({ sqlstate: null, retryable: false, outcomeUnknown: false })
  },
)

test('every message ends with what to do', () => {
  for (const code of [
    '08006',
    '22P02',
    '28P01',
    '3D000',
    '40001',
    '42501',
    '42P01',
    '53300',
    '57P01',
    'XX000',
  ]) {
    expect(translateError(coded(code), sent).message).toMatch(/(?:\.|migrate up)$/)
  }
})
