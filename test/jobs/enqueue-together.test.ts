import { expect, test } from 'vitest'
import { defineJob } from '../../src/jobs/kind.ts'
import { typed } from '../../src/core/schema.ts'
import { DatabaseError } from '../../src/errors.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'

const greet = defineJob('greet', { input: typed<{ n: number }>() })
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test('E1: calls made together are one statement, however many they are', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const results = await Promise.all(numbers(200).map((n) => t.mill.enqueue(greet, { n })))

  expect(statements.count('enqueue_alike_jobs')).toBe(1)
  expect(new Set(results.map(({ id }) => id)).size).toBe(200)
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['inserted']))
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 200, ready: 200 })
})

test('E1: calls that come while a statement is under way go together in the next', async () => {
  await using t = await setup()
  using statements = watchStatements(t.schema)
  const first = t.mill.enqueue(greet, { n: 0 })
  const rest: Promise<unknown>[] = []
  for (const n of numbers(100)) {
    await new Promise((resolve) => setImmediate(resolve))
    rest.push(t.mill.enqueue(greet, { n }))
  }
  await Promise.all([first, ...rest])
  expect(statements.count('enqueue_alike_jobs')).toBeLessThan(50)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 101, ready: 101 })
})

test('E1: calls of one turn are in line in the order they were made', async () => {
  await using t = await setup()
  const results = await Promise.all(numbers(50).map((n) => t.mill.enqueue(greet, { n })))
  const ids = results.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted())
  const { rows } = await t.sql.query<{ n: number }>(
    `select (j.payload ->> 'n')::int as n from ready r join jobs j on j.id = r.job_id order by r.due_at, r.job_id`,
  )
  expect(rows.map(({ n }) => n)).toEqual(numbers(50))
})

test('E1: an ask that the database cannot hold fails alone, the others of its statement land', async () => {
  await using t = await setup()
  await t.sql.query(`alter table jobs add constraint refuses check (payload::text <> '{"n":13}')`)
  const asks = numbers(20).map((n) => t.mill.enqueue(greet, { n }))
  const settled = await Promise.allSettled(asks)
  const refused = settled.flatMap((each, index) => (each.status === 'rejected' ? [index] : []))
  expect(refused).toEqual([13])
  await expect(asks[13]).rejects.toThrow(DatabaseError)
  await expect(asks[13]).rejects.toMatchObject({
    sqlstate: '23514',
    statement: 'enqueue_alike_jobs',
  })
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 19, ready: 19 })
  await assertOnePlace(t.sql, t.schema)
})

test('E1: what was asked before close is written, what comes after is refused', async () => {
  await using t = await setup()
  const asked = numbers(300).map((n) => t.mill.enqueue(greet, { n }))
  const closing = t.mill.close()
  const results = await Promise.all(asked)
  await closing
  expect(results).toHaveLength(300)
  expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 300 })
  await expect(t.mill.enqueue(greet, { n: 1 })).rejects.toMatchObject({ code: 'CLOSED' })
})
