import { expect, test } from 'vitest'
import { batcher } from '../../src/database/batcher.ts'
import { DatabaseError } from '../../src/errors.ts'

function failed(sqlstate: string | null): DatabaseError {
  return new DatabaseError('no', {
    sqlstate,
    statement: 'test',
    retryable: false,
    outcomeUnknown: false,
  })
}

test('each is answered once, also where a batch fails after some of its halves were written', async () => {
  const answers: string[] = []
  const { put, idle } = batcher<string, null>({
    // One member is refused, and then the database is away.
    flush: async (items) => {
      if (items.includes('bad')) throw failed('22000')
      if (items.includes('late')) throw failed(null)
      return items.map(() => null)
    },
    bytes: () => 1,
  })
  for (const item of ['good', 'bad', 'late', 'last']) {
    put({
      item,
      resolve: () => answers.push(`${item} written`),
      reject: (error) => {
        const state = error instanceof DatabaseError ? error.sqlstate : 'another'
        answers.push(`${item} ${state ?? 'away'}`)
      },
    })
  }
  await idle()
  expect(answers).toEqual(['good written', 'bad 22000', 'late away', 'last away'])
})

test('who is answered finds the rest only among what is still to be answered', async () => {
  const sizes: number[] = []
  const batches = batcher<number, null>({
    flush: async (items) => items.map(() => null),
    bytes: () => 1,
  })
  for (const item of [1, 2, 3]) {
    batches.put({ item, resolve: () => sizes.push(batches.size), reject: () => {} })
  }
  await batches.idle()
  expect(sizes).toEqual([2, 1, 0])
})
