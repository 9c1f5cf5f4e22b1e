import { expect, test } from 'vitest'
import { defineJob, InvalidOptionError, typed } from '../../src/index.ts'
import type { CancelOptions, JobFilter } from '../../src/index.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'

const visit = defineJob('visit', { input: typed<string>() })

test('X1: a filter is counted dry, walked in chunks with progress, and stops between two', async () => {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const names = Array.from({ length: 1_200 }, (_each, index) => `n${index}`)
  await mill.enqueueMany(visit, names, { queue: 'bulk' })
  await mill.enqueue(visit, 'other')
  const filter = { queue: 'bulk' }

  expect(await mill.jobs.cancel(filter, { dryRun: true })).toEqual({ matched: 1_200, applied: 0 })
  expect(await places(sql, schema)).toMatchObject({ ready: 1_201 })

  const stop = new AbortController()
  const onProgress = (): void => stop.abort(new Error('enough'))
  const stopped = mill.jobs.cancel(filter, { signal: stop.signal, onProgress })
  await expect(stopped).rejects.toThrow('enough')
  expect(await places(sql, schema)).toMatchObject({ ready: 701, finished: 500 })

  const progress: number[] = []
  const rest = await mill.jobs.cancel(filter, { onProgress: (done) => progress.push(done) })
  expect(rest).toEqual({ matched: 700, applied: 700 })
  expect(progress).toEqual([500, 700])
  expect(await mill.jobs.list({ state: 'pending' }).page()).toMatchObject({
    items: [{ input: 'other' }],
  })
  await assertOnePlace(sql, schema)
})

test('X1: what is asked for after the call began is not meant, so that it ends', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const { id } = await mill.enqueue(visit, 'before')
  const { id: later } = await mill.enqueue(visit, 'after')
  await sql.query(`update jobs set created_at = now() + interval '1 minute' where id = $1`, [later])
  expect(await mill.jobs.cancel({ kind: visit })).toEqual({ matched: 1, applied: 1 })
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'cancelled' })
  expect(await mill.jobs.get(later)).toMatchObject({ state: 'pending' })
})

const MISSPELT = { queues: 'mail' }

test.each<readonly [why: string, which: string | string[] | JobFilter, options: object]>([
  ['every job', {}, {}],
  ['every job', { kind: undefined }, {}],
  ['no such option', { kind: 'visit', ...MISSPELT }, {}],
  ['no such option', { kind: 'visit' }, { reason: 'x' }],
  ['pass the id', ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'x'], {}],
  ['pass a text', { kind: 'visit' }, { by: 7 }],
])(
  'X1: what cannot be meant is refused before anything is done: %s',
  async (why, which, options) => {
    await using bench = await setup()
    await bench.mill.enqueue(visit, 'x')
    const cancelled = bench.mill.jobs.cancel(which, options satisfies CancelOptions)
    await expect(cancelled).rejects.toThrow(InvalidOptionError)
    await expect(cancelled).rejects.toThrow(why)
    expect(await places(bench.sql, bench.schema)).toMatchObject({ ready: 1 })
  },
)
