import { describe, expect, test } from 'vitest'
import type { Fact } from './fact.ts'
import { faultsOf } from './faults.ts'
import { soundHistory } from './sound.ts'
import { again, at, changed, moved, without } from './planted.ts'

// As in faults.test.ts: each case plants one fault in a history that is sound.

describe('caps are never exceeded:', () => {
  test('two that fit are no fault', () => {
    expect(faultsOf(beside({ queue: 'other', kind: 'other' }))).toEqual([])
  })

  test.each([
    ['queue', { queue: 'mail', kind: 'other' }, 'B ran 2 at once of queue mail, its cap is 1'],
    ['kind', { queue: 'other', kind: 'send' }, 'B ran 2 at once of kind send, its cap is 1'],
  ])('one more than the cap of a %s is found', (_what, about, fault) => {
    expect(faultsOf(beside(about))).toEqual([fault])
  })

  test('one more than the concurrency is found', () => {
    const facts = beside({ queue: 'other', kind: 'other' })
    expect(faultsOf(changed('joined', { worker: 'B' }, { concurrency: 1 }, facts))).toEqual([
      'B ran 2 at once in all, its cap is 1',
    ])
  })
})

describe('each boundary of a schedule is fired once:', () => {
  const boundary = 120_000

  test('one that was not fired is found', () => {
    expect(faultsOf(without('fired', { boundary }))).toEqual([
      '1970-01-01T00:02:00.000Z of schedule hourly was not fired',
    ])
  })

  test('one that was fired twice is found', () => {
    expect(faultsOf(again('fired', { boundary }))).toEqual([
      '1970-01-01T00:02:00.000Z of schedule hourly was fired 2 times',
    ])
  })

  test('a fire at no boundary is found', () => {
    expect(faultsOf(again('fired', { boundary }, { boundary: 120_001 }))).toEqual([
      '1970-01-01T00:02:00.001Z of schedule hourly was fired, and is no boundary',
    ])
  })
})

describe('each consumer sees each event in order:', () => {
  test('an event that one missed is found', () => {
    expect(faultsOf(without('saw', { consumer: 'totals', offset: 4 }))).toEqual([
      'totals missed 4 of orders',
    ])
  })

  test('an event that was skipped, and seen too late, is found', () => {
    const facts = moved('saw', { consumer: 'mailer', offset: 2 }, Number.MAX_SAFE_INTEGER)
    expect(faultsOf(facts)).toContain('mailer saw 3 of orders when it had seen none beyond 1')
  })

  test('an event seen twice by who handles once is found', () => {
    expect(faultsOf(again('saw', { consumer: 'totals', offset: 4 }))).toEqual([
      'totals saw 4 of orders again',
    ])
  })

  test('an event seen as another is found', () => {
    expect(faultsOf(changed('saw', { consumer: 'totals', offset: 4 }, { event: 'E1' }))).toEqual([
      'totals saw 4 of orders as E1, which it is not',
    ])
  })

  test('a committed event without an offset is found', () => {
    const published: Fact = {
      at: 1,
      process: 'P',
      what: 'published',
      stream: 'orders',
      event: 'E9',
    }
    expect(faultsOf([...soundHistory(), published])).toEqual([
      'event E9 of orders was committed and has no offset',
    ])
  })

  test('an event that was rolled back and has an offset is found', () => {
    expect(faultsOf(without('published', { event: 'E2' }))).toEqual([
      'event E2 of orders has an offset and was never committed',
    ])
  })

  test('a gap in the offsets is found', () => {
    expect(faultsOf(changed('sequenced', { event: 'E4' }, { offset: 5 }))).toContain(
      'stream orders has offset 5 where 4 should be',
    )
  })

  test('an event with two offsets is found', () => {
    expect(faultsOf(again('sequenced', { event: 'E4' }, { offset: 5 }))).toContain(
      'event E4 of orders has 2 offsets',
    )
  })
})

describe('one has the lock at a time, with growing tokens:', () => {
  test('two that overlap are found', () => {
    expect(faultsOf(without('let-go', { token: 1 }))).toEqual([
      'lock storm: B took it with token 2 while A held it with 1',
    ])
  })

  test('a term that a renewal had lengthened is found', () => {
    const late = changed('extended', { token: 1 }, { token: 2, until: Number.MAX_SAFE_INTEGER })
    expect(faultsOf(late)).toEqual(['lock storm: A took it with token 3 while B held it with 2'])
  })

  test('one that was told that it lost it is out of the way', () => {
    const over = at('let-go', { token: 1 })
    const lost: Fact = { at: over, process: 'A', what: 'lost', lock: 'storm', token: 1 }
    expect(faultsOf([...without('let-go', { token: 1 }), lost])).toEqual([])
  })

  test('a token that was given twice is found', () => {
    expect(faultsOf(changed('took', { token: 3 }, { token: 2 }))).toEqual([
      'lock storm: A took it with token 2, as B did',
    ])
  })

  test('a token that is smaller than the one before is found', () => {
    expect(faultsOf(changed('took', { token: 3 }, { token: 0 }))).toEqual([
      'lock storm: A took it with token 1 before A took it with 0',
    ])
  })
})

// A second run of the same queue and kind, while J1 runs in B.
function beside(about: { readonly queue: string; readonly kind: string }): readonly Fact[] {
  const began = at('began', { job: 'J1', run: 2 }) + 2
  const run = { job: 'J3', run: 1, worker: 'B', isTransactional: false }
  return [
    ...changed('placed', { job: 'J3' }, { places: ['leases'] }),
    { at: began, process: 'B', what: 'began', ...run, ...about },
    { at: began + 2, process: 'B', what: 'returned', job: 'J3', run: 1 },
  ]
}
