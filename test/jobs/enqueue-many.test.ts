import { expect, test } from 'vitest'
import { z } from 'zod'
import { makeId } from '../../src/core/id.ts'
import { typed } from '../../src/core/schema.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { liveHeap } from '../support/heap.ts'
import { assertOnePlace, NOON, places, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'

const greet = defineJob('greet', { input: z.object({ n: z.number().max(1_000_000) }) })
const long = defineJob('long', { input: typed<{ n: number; text: string }>() })
const numbers = (count: number) => Array.from({ length: count }, (_, index) => ({ n: index }))

test('E5: results are in the order of the inputs, and so is the line', async () => {
  await using t = await setup()
  const results = await t.mill.enqueueMany(greet, numbers(1_000))
  const ids = results.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['inserted']))
  const { rows } = await t.sql.query<{ n: number }>(
    `select (payload ->> 'n')::int as n from jobs order by id`,
  )
  expect(rows.map(({ n }) => ({ n }))).toEqual(numbers(1_000))
})

test('E5: 100 000 rows of a generator go in one call, chunk by chunk, and memory stays bounded', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const before = liveHeap()
  let furthest = 0
  let grown = 0
  function* inputs(): Generator<{ n: number; text: string }, void> {
    for (let n = 0; n < 100_000; n += 1) {
      furthest = Math.max(furthest, n - 5_000 * statements.count('enqueue_alike_jobs'))
      if (n % 30_000 === 29_999) grown = Math.max(grown, liveHeap() - before)
      yield { n, text: `${n}`.padEnd(500, 'x') }
    }
  }
  const results = await t.mill.enqueueMany(long, inputs())

  expect(results).toHaveLength(100_000)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 100_000, ready: 100_000 })
  expect(statements.count('enqueue_alike_jobs')).toBe(20)
  // Inputs are read at most two statements ahead: together they would be more than 50 MB.
  expect(furthest).toBeLessThanOrEqual(10_001)
  expect(grown).toBeLessThan(40_000_000)
}, 120_000)

test('E5: what is large goes in more statements: no more than 8 MB in one', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const text = 'x'.repeat(200_000)
  await t.mill.enqueueMany(
    long,
    numbers(100).map(({ n }) => ({ n, text })),
  )
  expect(statements.count('enqueue_alike_jobs')).toBe(3)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 100 })
})

test('E5: all or nothing: an invalid input far on takes back everything before it', async () => {
  await using t = await setup()
  const inputs = numbers(12_000).map((input) => (input.n === 11_000 ? { n: 2_000_000 } : input))
  await expect(t.mill.enqueueMany(greet, inputs)).rejects.toThrow(InvalidInputError)
  expect(await places(t.sql, t.schema)).toEqual({ jobs: 0, ready: 0, leases: 0, finished: 0 })
  // And the connection is as good as before.
  expect(await t.mill.enqueueMany(greet, numbers(6_000))).toHaveLength(6_000)
})

test('E5: what the generator of the inputs throws is what the caller gets, and nothing is written', async () => {
  await using t = await setup()
  await expect(t.mill.enqueueMany(greet, brokenOff())).rejects.toThrow('the file ended')
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0 })
})

test('E5: options are for all, or for each by a function of the input and its index', async () => {
  await using t = await setup()
  await t.mill.enqueueMany(greet, numbers(2), { queue: 'all', priority: 'high' })
  await t.mill.enqueueMany(greet, numbers(3), ({ n }, index) => ({ queue: `q${n * 10 + index}` }))
  const { rows } = await t.sql.query<{ queue: string; priority: number }>(
    'select queue, priority from jobs order by id',
  )
  expect(rows.map(({ queue, priority }) => `${queue} ${priority}`)).toEqual([
    'all 2',
    'all 2',
    'q0 5',
    'q11 5',
    'q22 5',
  ])
})

test('E2, E5: an id again is kept, in the same statement, in a later one, and from before', async () => {
  await using t = await setup()
  const id = makeId(NOON)
  const known = makeId(NOON)
  await t.mill.enqueue(greet, { n: 0 }, { id: known })
  const again = new Map([
    [0, id],
    [1, known],
    [2, id],
    [5_500, id],
  ])
  const results = await t.mill.enqueueMany(greet, numbers(6_000), (_input, index) => ({
    id: again.get(index),
  }))
  const at = (index: number) => results[index]?.outcome
  expect([at(0), at(1), at(2), at(3), at(5_500), at(5_999)]).toEqual([
    'inserted',
    'kept',
    'kept',
    'inserted',
    'kept',
    'inserted',
  ])
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 5_998, ready: 5_998 })
  await assertOnePlace(t.sql, t.schema)
})

test('E5: no inputs are no jobs and no statement', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  expect(await t.mill.enqueueMany(greet, [])).toEqual([])
  expect(statements.names).toEqual([])
})

test('E6: input is refused with its issues and path, the job before it is not written', async () => {
  await using t = await setup()
  const asked = t.mill.enqueueMany(greet, [{ n: 1 }, { n: 2_000_000 }])
  await expect(asked).rejects.toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: ['n'] }] })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 0 })
})

async function* brokenOff(): AsyncGenerator<{ n: number }, void> {
  yield* numbers(5_500)
  throw new Error('the file ended')
}
