import { expect, test } from 'vitest'
import { parseHint } from '../../src/database/hint.ts'

test.each([
  ['due 1700000000123 mail', { type: 'due', dueAt: 1_700_000_000_123, queue: 'mail' }],
  ['due 1700000000123.5 mail', { type: 'due', dueAt: 1_700_000_000_123.5, queue: 'mail' }],
  ['due 0 a b  c', { type: 'due', dueAt: 0, queue: 'a b  c' }],
  ['due -5 x', { type: 'due', dueAt: -5, queue: 'x' }],
  ['due 1  leading', { type: 'due', dueAt: 1, queue: ' leading' }],
  ['due 1 zwei\nZeilen ü👋', { type: 'due', dueAt: 1, queue: 'zwei\nZeilen ü👋' }],
])('E8: %j is a job that is due', (payload, hint) => {
  expect(parseHint(payload)).toEqual(hint)
})

test.each([
  ['cancel host:12:abc', { type: 'cancel', worker: 'host:12:abc' }],
  ['wait 01ARZ3NDEKTSV4RRFFQ69G5FAV', { type: 'wait', id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
  ['ended 01ARZ3NDEKTSV4RRFFQ69G5FAV', { type: 'ended', id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
])('X1, H1: %j is a word about a run or a job', (payload, hint) => {
  expect(parseHint(payload)).toEqual(hint)
})

test('C5: a word says that something was decided about a queue', () => {
  expect(parseHint('queues')).toEqual({ type: 'queues' })
  expect(parseHint('queues mail')).toBeUndefined()
})

test('S4: a word says that a schedule changed', () => {
  expect(parseHint('schedules')).toEqual({ type: 'schedules' })
  expect(parseHint('schedules night')).toBeUndefined()
})

test.each([
  ['lock a b  c', { type: 'lock', name: 'a b  c' }],
  ['unlock x', { type: 'unlock', name: 'x' }],
])('K1: %j is a word about a lock', (payload, hint) => {
  expect(parseHint(payload)).toEqual(hint)
})

test.each([
  ['stream orders', { type: 'stream', stream: 'orders' }],
  ['stream zwei Wörter', { type: 'stream', stream: 'zwei Wörter' }],
  ['consumer orders', { type: 'consumer', stream: 'orders' }],
  ['sequenced 17 orders', { type: 'sequenced', stream: 'orders', head: 17 }],
  ['sequenced 17  5 x', { type: 'sequenced', stream: ' 5 x', head: 17 }],
])('T2, T4: %j is a word about a stream', (payload, hint) => {
  expect(parseHint(payload)).toEqual(hint)
})

test('D1: a word says that an ask waits for the end of a run', () => {
  expect(parseHint('rerun')).toEqual({ type: 'rerun' })
})

test.each([
  '',
  'cancel',
  'cancel ',
  'waits x',
  'due',
  'due 1',
  'due 1 ',
  'due x mail',
  'due 1e3 mail',
  'paused mail',
  'stream',
  'sequenced orders',
  'sequenced x orders',
  'DUE 1 mail',
  'proof',
  ' due 1 a',
])('%j is a word of a newer release and is ignored', (payload) => {
  expect(parseHint(payload)).toBeUndefined()
})
