import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Pool } from 'pg'
import { z } from 'zod'
import { DatabaseError, InvalidInputError, InvalidOptionError } from '../../src/errors.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { CALLERS } from '../support/callers.ts'
import type { Caller } from '../support/callers.ts'
import { databaseOfFile, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const greet = defineJob('greet', { input: z.object({ n: z.number().max(1_000_000) }) })
const numbers = (count: number) => Array.from({ length: count }, (_, index) => ({ n: index }))

describe.each(CALLERS)('E1: in %s', (_name, open) => {
  let caller: Caller
  beforeAll(async () => {
    caller = await open()
  })
  afterAll(() => caller[Symbol.asyncDispose]())

  /** How many of these jobs wait. */
  async function waiting(...ids: readonly string[]): Promise<number> {
    const list = ids.map((id) => `'${id}'`).join(', ')
    return (await caller.rows(`select job_id from ready where job_id in (${list})`)).length
  }

  /** What was said on the channel while `work` ran. */
  async function hints(work: () => Promise<unknown>): Promise<readonly string[]> {
    const before = caller.heard.length
    await work()
    await caller.say('the end')
    await until(() => caller.heard.at(-1) === 'the end')
    return caller.heard.slice(before, -1)
  }

  test('a commit lands the job and its wake-up, and neither is seen before it', async () => {
    let id = ''
    let wasSeen = true
    const heard = await hints(() =>
      caller.transaction(async ({ producer }) => {
        id = (await producer.enqueue(greet, { n: 1 })).id
        wasSeen = caller.heard.some((payload) => payload.startsWith('due'))
      }),
    )
    expect(await waiting(id)).toBe(1)
    expect(wasSeen).toBe(false)
    expect(heard).toEqual([expect.stringMatching(/^due \d+ default$/)])
  })

  test('a rollback leaves neither job nor wake-up', async () => {
    let id = ''
    const heard = await hints(() =>
      caller
        .transaction(async ({ producer }) => {
          id = (await producer.enqueue(greet, { n: 1 })).id
          throw new Error('changed my mind')
        })
        .catch(() => undefined),
    )
    expect(id).not.toBe('')
    expect(await waiting(id)).toBe(0)
    expect(heard).toEqual([])
  })

  test('the job stands with what the application wrote in the same transaction', async () => {
    await caller.transaction(async ({ producer, run }) => {
      await run('create table orders (n int)')
      await run('insert into orders values (7)')
      await producer.enqueue(greet, { n: 7 })
    })
    const rows = await caller.rows(
      `select payload::text as payload from jobs where payload::text = '{"n":7}'`,
    )
    expect(rows).toEqual([{ payload: '{"n":7}' }])
  })

  test('E2: the same id twice in one transaction is kept the second time', async () => {
    const id = '01JZZZZZZZZZZZZZZZZZZZZZZZ'
    const outcomes: string[] = []
    await caller.transaction(async ({ producer }) => {
      outcomes.push((await producer.enqueue(greet, { n: 1 }, { id })).outcome)
      outcomes.push((await producer.enqueue(greet, { n: 2 }, { id })).outcome)
    })
    expect(outcomes).toEqual(['inserted', 'kept'])
  })

  test('E5: enqueueMany answers in order and is all or nothing; after bad input the transaction goes on', async () => {
    let problem: unknown
    let after = ''
    const before = await caller.rows('select count(*)::int as n from ready')
    await caller.transaction(async ({ producer, run }) => {
      await run('select 1')
      problem = await producer
        .enqueueMany(greet, [...numbers(5_500), { n: 2_000_000 }])
        .catch((error: unknown) => error)
      after = (await producer.enqueue(greet, { n: 1 })).id
    })
    expect(problem).toBeInstanceOf(InvalidInputError)
    expect(await waiting(after)).toBe(1)
    const [count] = await caller.rows('select count(*)::int as n from ready')
    expect(count).toEqual({ n: Number(before[0]?.['n']) + 1 })
  })

  test('E5: enqueueMany of more than one statement commits with the rest', async () => {
    const ids: string[] = []
    await caller.transaction(async ({ producer }) => {
      const results = await producer.enqueueMany(greet, numbers(5_001))
      ids.push(...results.map(({ id }) => id))
    })
    expect(ids).toHaveLength(5_001)
    expect(ids).toEqual(ids.toSorted())
    expect(await waiting(ids.at(0) ?? '', ids.at(-1) ?? '')).toBe(2)
  })

  test('calls that run side by side do not undo each other', async () => {
    let kept: readonly string[] = []
    await caller.transaction(async ({ producer }) => {
      const [good, bad, single] = await Promise.allSettled([
        producer.enqueueMany(greet, numbers(3)),
        producer.enqueueMany(greet, [...numbers(3), { n: 2_000_000 }]),
        producer.enqueue(greet, { n: 9 }),
      ])
      expect(bad.status).toBe('rejected')
      if (good.status === 'rejected' || single.status === 'rejected') throw new Error('refused')
      kept = [...good.value.map(({ id }) => id), single.value.id]
    })
    expect(await waiting(...kept)).toBe(4)
  })

  test('inputs that enqueue in the same transaction belong to the call that reads them', async () => {
    let made: readonly string[] = []
    await caller.transaction(async ({ producer }) => {
      const extra: string[] = []
      async function* inputs(): AsyncGenerator<{ n: number }, void> {
        for (const input of numbers(5_002)) {
          if (input.n === 5_001) extra.push((await producer.enqueue(greet, { n: -1 })).id)
          yield input
        }
      }
      const results = await producer.enqueueMany(greet, inputs())
      made = [...extra, ...results.slice(-1).map(({ id }) => id)]
    })
    expect(await waiting(...made)).toBe(2)
  })
})

test.each(['repeatable read', 'serializable'])(
  'race 22, E1: in a %s transaction whose search_path leads elsewhere',
  async (isolation) => {
    await using t = await setup()
    await t.sql.query(`begin isolation level ${isolation}`)
    await t.sql.query('set local search_path to nowhere')
    const inside = t.mill.in(t.sql)
    const one = await inside.enqueue(greet, { n: 1 })
    const again = await inside.enqueue(greet, { n: 1 }, { id: one.id })
    const many = await inside.enqueueMany(greet, numbers(5_001))
    await t.sql.query('commit')
    expect([one.outcome, again.outcome, many.length]).toEqual(['inserted', 'kept', 5_001])
    expect(await places(t.sql, t.schema)).toMatchObject({ jobs: 5_002, ready: 5_002 })
  },
)

test('a producer whose transaction has ended refuses, and says what to do', async () => {
  await using t = await setup()
  await t.sql.query('begin')
  const producer = t.mill.in(t.sql)
  await t.sql.query('commit')
  const late = producer.enqueue(greet, { n: 1 })
  await expect(late).rejects.toThrow(DatabaseError)
  await expect(late).rejects.toThrow('Enqueue before the commit')
})

test('E1: a pool, and a client outside a transaction, are refused at run time', async () => {
  await using t = await setup()
  const pool = new Pool({ connectionString: await databaseOfFile() })
  try {
    // @ts-expect-error a pool is no transaction
    expect(() => t.mill.in(pool)).toThrow(InvalidOptionError)
    // @ts-expect-error a pool is no transaction
    expect(() => t.mill.in(pool)).toThrow('mill.in() wants a transaction')
    expect(() => t.mill.in(t.sql)).toThrow('none is open on this client')
  } finally {
    await pool.end()
  }
})
