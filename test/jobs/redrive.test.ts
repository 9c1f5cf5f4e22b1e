import { expect, test } from 'vitest'
import { collect } from '../support/collect.ts'
import { insertFinished } from '../support/finished.ts'
import { assertOnePlace, manualSetup, places } from '../support/mill.ts'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'

test('X2: a filter redrives what is dead or cancelled among what it matches, in chunks, with progress', async () => {
  await using t = await manualSetup()
  const waiting = defineJob('charge', { input: typed<number>() })
  await t.mill.enqueue(waiting, 1)
  for (let n = 0; n < 3; n += 1) await insertFinished(t.sql, { kind: 'charge', state: 'completed' })
  await insertFinished(t.sql, { kind: 'other' })
  for (let n = 0; n < 505; n += 1) {
    const state = n % 2 === 0 ? 'dead' : 'cancelled'
    await insertFinished(t.sql, { kind: 'charge', state })
  }
  const filter = { kind: 'charge' }
  t.clock.advance(1_000)

  expect(await t.mill.jobs.retry(filter, { dryRun: true })).toEqual({ matched: 505, applied: 0 })
  const progress: number[] = []
  const onProgress = (done: number): void => void progress.push(done)
  expect(await t.mill.jobs.retry(filter, { onProgress })).toEqual({ matched: 505, applied: 505 })

  expect(progress).toEqual([500, 505])
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 506, finished: 4 })
  await assertOnePlace(t.sql, t.schema)
})

test('X2: a filter that names a state redrives that one only, and one that names others none', async () => {
  await using t = await manualSetup()
  const dead = await insertFinished(t.sql, { state: 'dead' })
  const cancelled = await insertFinished(t.sql, { state: 'cancelled' })
  t.clock.advance(1_000)

  expect(await t.mill.jobs.retry({ state: ['dead', 'pending'] })).toEqual({
    matched: 1,
    applied: 1,
  })
  expect(await t.mill.jobs.retry({ state: 'completed' })).toEqual({ matched: 0, applied: 0 })

  expect(await t.mill.jobs.get(dead)).toMatchObject({ state: 'pending', waiting: 'due' })
  expect(await t.mill.jobs.get(cancelled)).toMatchObject({ state: 'cancelled' })
})

test('X2: a cancelled job goes back into line, and its cancel stays in the journal', async () => {
  await using t = await manualSetup()
  const kind = defineJob('visit', { expires: '1h' })
  const { id } = await t.mill.enqueue(kind)
  await t.mill.jobs.cancel(id, { by: 'ada', why: 'by mistake' })
  await t.mill.jobs.retry(id, { by: 'bob' })
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending', run: 0, expiresAt: null })
  expect(await collect(t.mill.jobs.journal(id))).toMatchObject([
    { outcome: 'cancelled', by: 'ada', why: 'by mistake' },
    { outcome: 'redriven', by: 'bob' },
  ])
})
