import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/jobs/kind.ts'
import type { EnqueueOptions } from '../../src/jobs/options.ts'
import { manualSetup, NOON, setup } from '../support/mill.ts'
import {
  added,
  decisions,
  failedOnce,
  input,
  isListening,
  kept,
  replaced,
  twin,
  waiting,
} from '../support/sums.ts'
import { until } from '../support/until.ts'

describe('D2: what becomes of a job that failed once', () => {
  test('replace: the new input, the default carry, no failures; due at the earlier instant', async () => {
    await using t = await manualSetup()
    const id = await failedOnce(t)
    t.clock.advance(1_000)
    expect(await t.mill.enqueue(replaced, { n: 2 })).toMatchObject({ id, outcome: 'replaced' })
    expect(await waiting(t)).toMatchObject([{ n: 2, carry: null, failures: 0, due: 1 }])
    expect(await t.mill.jobs.get(id)).toMatchObject({ run: 1, createdAt: new Date(NOON) })
  })

  test('a merge: input and carry as the function gave them, the failures stay', async () => {
    await using t = await manualSetup()
    const id = await failedOnce(t)
    expect(await t.mill.enqueue(added, { n: 2 })).toMatchObject({ id, outcome: 'merged' })
    expect(await waiting(t)).toMatchObject([{ n: 3, carry: { runs: 11 }, failures: 1, due: 0 }])
    const again = await t.mill.enqueue(added, { n: 2 }, { delay: '5s' })
    expect(again).toMatchObject({ id, outcome: 'merged' })
    expect(await waiting(t)).toMatchObject([{ n: 5, carry: { runs: 21 }, due: 0 }])
  })

  test('keep: nothing changes', async () => {
    await using t = await manualSetup()
    const id = await failedOnce(t)
    const before = await waiting(t)
    const ask = { priority: 'high', expires: '1m', queue: 'other' } as const
    expect(await t.mill.enqueue(kept, { n: 2 }, ask)).toMatchObject({ id, outcome: 'kept' })
    expect(await waiting(t)).toEqual(before)
    expect(await t.mill.jobs.get(id)).toMatchObject({ queue: 'default' })
  })

  test('independent: a second job of the key, with the default carry', async () => {
    await using t = await manualSetup()
    await failedOnce(t)
    expect(await t.mill.enqueue(twin, { n: 2 })).toMatchObject({ outcome: 'inserted' })
    expect(await waiting(t)).toMatchObject([
      { n: 1, carry: { runs: 1 }, failures: 1 },
      { n: 2, carry: null, failures: 0 },
    ])
    expect(await decisions(t)).toEqual([])
  })
})

test.each<readonly [what: string, first: EnqueueOptions, second: EnqueueOptions, row: object]>([
  ['priority: the better', { priority: 3 }, { priority: 7 }, { priority: 3 }],
  ['priority: the better', { priority: 7 }, { priority: 3 }, { priority: 3 }],
  ['due_at: the earlier', { delay: '5s' }, { delay: '9s' }, { due: 5 }],
  ['due_at: the earlier', { delay: '9s' }, { delay: '5s' }, { due: 5 }],
  ['due_at: now', { delay: '9s' }, {}, { due: 0 }],
  ['expires_at: the later', { expires: '5s' }, { expires: '9s' }, { expires: 9 }],
  ['expires_at: the later', { expires: '9s' }, { expires: '5s' }, { expires: 9 }],
  ['expires_at: never', { expires: '9s' }, {}, { expires: null }],
  ['expires_at: never', {}, { expires: '9s' }, { expires: null }],
])('D2: %s of the two (%j, then %j)', async (_what, first, second, row) => {
  await using t = await manualSetup()
  await t.mill.enqueue(replaced, { n: 1 }, first)
  await t.mill.enqueue(replaced, { n: 2 }, second)
  expect(await waiting(t)).toMatchObject([{ n: 2, ...row }])
})

test('D2: the other stamps are those of the ask that came last', async () => {
  await using t = await setup()
  await t.mill.enqueue(replaced, { n: 1 }, { retry: { failures: 2 }, lease: '10s' })
  const stamps = { retry: { failures: 7 }, lease: '20s', queue: 'other' } as const
  const { id } = await t.mill.enqueue(replaced, { n: 2 }, stamps)
  const { rows } = await t.sql.query('select queue, lease_ms::int from ready')
  expect(rows).toEqual([{ queue: 'other', lease_ms: 20_000 }])
  expect(await t.mill.jobs.get(id)).toMatchObject({ queue: 'other', failureLimit: 7 })
})

test('D2: a merge that makes a job due wakes a worker', async () => {
  await using t = await manualSetup()
  const runs: number[] = []
  await using worker = t.mill.worker().handle(replaced, ({ n }) => void runs.push(n))
  await t.mill.enqueue(replaced, { n: 1 }, { delay: '1h' })
  await worker.start()
  await until(() => isListening(t))
  await t.mill.enqueue(replaced, { n: 2 })
  await until(() => runs.length === 1)
  expect(runs).toEqual([2])
})

test('D2: the journal is shown to the function, and D3: each decision is added to it', async () => {
  await using t = await manualSetup()
  const id = await failedOnce(t)
  const seen: unknown[] = []
  const looking = defineJob('sum', {
    input,
    carry: { runs: 0 },
    dedup: 'k',
    merge: ({ journal, run, failures }) => {
      seen.push(
        journal.map(({ outcome }) => outcome),
        run,
        failures,
      )
      return 'keep'
    },
  })
  const asks = [
    await t.mill.enqueue(looking, { n: 2 }),
    await t.mill.enqueue(added, { n: 3 }),
    await t.mill.enqueue(replaced, { n: 4 }),
  ]
  await t.mill.enqueue(twin, { n: 5 })
  expect(seen).toEqual([['retried'], 1, 1])
  const entries: unknown[] = []
  for await (const entry of t.mill.jobs.journal(id)) entries.push(entry)
  expect(entries).toMatchObject([
    { outcome: 'retried' },
    { outcome: 'merged', decision: 'keep', asked: asks[0]?.asked },
    { outcome: 'merged', decision: 'merge', asked: asks[1]?.asked },
    { outcome: 'merged', decision: 'replace', asked: asks[2]?.asked },
  ])
})

test.each<readonly [what: string, merge: () => unknown, message: string]>([
  [
    'throws',
    () => {
      throw new RangeError('not like this')
    },
    'not like this',
  ],
  ['answers nonsense', () => ({ output: 1 }), 'no promise'],
  ['answers a promise', () => Promise.resolve('replace'), 'no promise'],
])('D2: a merge function that %s leaves the job as it was', async (_what, merge, message) => {
  await using t = await manualSetup()
  await failedOnce(t)
  const before = await waiting(t)
  // @ts-expect-error a JavaScript caller's slip
  const broken = defineJob('sum', { input, carry: { runs: 0 }, dedup: 'k', merge })
  await expect(t.mill.enqueue(broken, { n: 2 })).rejects.toThrow(message)
  await expect(t.mill.enqueueMany(broken, [{ n: 2 }, { n: 3 }])).rejects.toThrow(message)
  expect(await waiting(t)).toEqual(before)
  expect(await decisions(t)).toEqual([])
})

test('D6: a job whose input no release can read stands in nobody’s way', async () => {
  await using t = await setup()
  const { id } = await t.mill.enqueue(replaced, { n: 1 })
  await t.sql.query(`update jobs set payload = '{"m":1}'`)
  const strict = z.object({ n: z.number() })
  const function_ = defineJob('sum', { input: strict, dedup: 'k', merge: () => 'keep' })
  expect(await t.mill.enqueue(function_, { n: 2 })).toMatchObject({ outcome: 'inserted' })
  const word = defineJob('sum', { input: strict, dedup: 'k' })
  expect(await t.mill.enqueue(word, { n: 3 })).toMatchObject({ id, outcome: 'replaced' })
  expect(await waiting(t)).toMatchObject([{ n: 3 }, { n: 2 }])
})
