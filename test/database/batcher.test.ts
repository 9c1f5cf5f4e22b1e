import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batcher, fitting, MOST_BYTES, MOST_ROWS } from '../../src/database/batcher.ts'
import { DatabaseError } from '../../src/errors.ts'

/** A flush that is answered by hand. */
function gate() {
  const batches: (readonly number[])[] = []
  const waiting: (() => void)[] = []
  return {
    batches,
    flush: async (items: readonly number[]): Promise<readonly number[]> => {
      batches.push(items)
      await new Promise<void>((resolve) => waiting.push(resolve))
      return items.map((item) => item * 10)
    },
    /** Answers what is under way, and waits until the next batch has left. */
    async open(): Promise<void> {
      waiting.shift()?.()
      await turn()
    },
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const one = () => 1

function failed(sqlstate: string | null): DatabaseError {
  return new DatabaseError('no', {
    sqlstate,
    statement: 'test',
    retryable: false,
    outcomeUnknown: false,
  })
}

describe('group commit', () => {
  test('what is added in one turn leaves together and at once', async () => {
    const { batches, flush, open } = gate()
    const { add } = batcher({ flush, bytes: one })
    const results = Promise.all([add(1), add(2), add(3)])
    await turn()
    expect(batches).toEqual([[1, 2, 3]])
    await open()
    expect(await results).toEqual([10, 20, 30])
  })

  test('while one is under way the next gathers, and leaves when that is answered', async () => {
    const { batches, flush, open } = gate()
    const { add } = batcher({ flush, bytes: one })
    const results = [add(1)]
    await turn()
    results.push(add(2))
    await turn()
    results.push(add(3))
    await turn()
    expect(batches).toEqual([[1]])
    await open()
    expect(batches).toEqual([[1], [2, 3]])
    await open()
    expect(await Promise.all(results)).toEqual([10, 20, 30])
  })

  test('after it fell idle it leaves at once again', async () => {
    const { batches, flush, open } = gate()
    const { add, idle } = batcher({ flush, bytes: one })
    const first = add(1)
    await turn()
    await open()
    await first
    await idle()
    void add(2)
    await turn()
    expect(batches).toEqual([[1], [2]])
    await open()
  })

  test('size counts what has no answer yet', async () => {
    const { flush, open } = gate()
    const waiting = batcher({ flush, bytes: one })
    expect(waiting.size).toBe(0)
    void waiting.add(1)
    await turn()
    void waiting.add(2)
    expect(waiting.size).toBe(2)
    await open()
    expect(waiting.size).toBe(1)
    await open()
    expect(waiting.size).toBe(0)
  })

  test('idle resolves when everything added before it is answered, also when it fails', async () => {
    const answered: string[] = []
    const { add, idle } = batcher<number, number>({
      flush: async () => {
        await turn()
        throw failed('57P01')
      },
      bytes: one,
    })
    await idle()
    const results = [add(1), add(2)].map((each) => each.catch(() => answered.push('failed')))
    await idle()
    await Promise.all(results)
    expect(answered).toEqual(['failed', 'failed'])
  })
})

describe('a batch that fails', () => {
  const SQLSTATES = ['22021', '22P05', '23505', '23514', '54000']

  test('for a member is halved until exactly the members stand alone that cause it', async () => {
    const cases = fc.record({
      size: fc.integer({ min: 1, max: 70 }),
      bad: fc.uniqueArray(fc.integer({ min: 0, max: 69 }), { maxLength: 8 }),
      sqlstate: fc.constantFrom(...SQLSTATES),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ size, bad, sqlstate }) => {
        let flushes = 0
        const { add } = batcher<number, number>({
          flush: async (items) => {
            flushes += 1
            await Promise.resolve()
            if (items.some((item) => bad.includes(item))) throw failed(sqlstate)
            return items.map((item) => item * 10)
          },
          bytes: one,
        })
        const items = Array.from({ length: size }, (_, index) => index)
        const settled = await Promise.allSettled(items.map((item) => add(item)))
        const outcomes = settled.map((each) =>
          each.status === 'fulfilled' ? each.value : 'refused',
        )
        expect(outcomes).toEqual(items.map((item) => (bad.includes(item) ? 'refused' : item * 10)))
        // Each bad member costs at most two statements for each halving.
        expect(flushes).toBeLessThanOrEqual(1 + 2 * bad.length * Math.ceil(Math.log2(size) + 1))
      }),
    )
  })

  test.each(['57P01', '40P01', '42P01', '53300', '08006', null])(
    'with SQLSTATE %s fails whole, in one statement',
    async (sqlstate) => {
      let flushes = 0
      const error = failed(sqlstate)
      const { add } = batcher<number, number>({
        flush: async () => {
          flushes += 1
          await Promise.resolve()
          throw error
        },
        bytes: one,
      })
      const settled = await Promise.allSettled([add(1), add(2), add(3)])
      expect(settled.map((each) => each.status === 'rejected' && each.reason === error)).toEqual([
        true,
        true,
        true,
      ])
      expect(flushes).toBe(1)
    },
  )

  test('after a part of it was written, leaves that part answered and fails the rest', async () => {
    let flushes = 0
    const { add } = batcher<number, number>({
      flush: async (items) => {
        flushes += 1
        await Promise.resolve()
        if (flushes === 1) throw failed('22021')
        if (flushes === 3) throw failed('57P01')
        return items
      },
      bytes: one,
    })
    const settled = await Promise.allSettled([add(1), add(2), add(3), add(4)])
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ])
  })

  test('takes nothing else with it: what gathered meanwhile goes on', async () => {
    const { add } = batcher<number, number>({
      flush: async (items) => {
        await turn()
        if (items.includes(1)) throw failed('57P01')
        return items
      },
      bytes: one,
    })
    const first = add(1).catch(() => 'refused')
    await turn()
    const second = add(2)
    expect(await Promise.all([first, second])).toEqual(['refused', 2])
  })
})

describe('fitting', () => {
  test('holds at most so many rows, and so many bytes, but always one', () => {
    expect(fitting(Array.from({ length: 12_000 }, one))).toBe(MOST_ROWS)
    expect(fitting(Array.from({ length: MOST_ROWS }, one))).toBe(MOST_ROWS)
    expect(fitting([MOST_BYTES, 1])).toBe(1)
    expect(fitting([MOST_BYTES - 1, 1, 1])).toBe(2)
    expect(fitting([2 * MOST_BYTES, 1])).toBe(1)
    expect(fitting([])).toBe(0)
  })

  test('never leaves an item behind: pieces of it are the whole', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: MOST_BYTES + 10 }), { maxLength: 40 })
    fc.assert(
      fc.property(sizes, (given) => {
        let left = given
        const pieces: (readonly number[])[] = []
        while (left.length > 0) {
          const count = fitting(left)
          pieces.push(left.slice(0, count))
          left = left.slice(count)
        }
        expect(pieces.flat()).toEqual(given)
        for (const piece of pieces) {
          const bytes = piece.reduce((sum, each) => sum + each, 0)
          expect(piece.length === 1 || bytes <= MOST_BYTES).toBe(true)
        }
      }),
    )
  })

  test('what is large leaves in several statements, in order', async () => {
    const batches: number[] = []
    const { add } = batcher<number, number>({
      flush: async (items) => {
        batches.push(items.length)
        await turn()
        return items
      },
      bytes: () => 3_000_000,
    })
    const items = [1, 2, 3, 4, 5]
    expect(await Promise.all(items.map((item) => add(item)))).toEqual(items)
    expect(batches).toEqual([2, 2, 1])
  })
})
