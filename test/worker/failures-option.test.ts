import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const ping = defineJob('ping')
const QUICK = { type: 'fixed', base: 1, jitter: 0 } as const

test('§14: a worker may be stricter than the stamp, never laxer', async () => {
  await using t = await setup()
  const { mill } = t
  const ids = [
    await mill.enqueue(ping, undefined, { retry: { failures: 9, backoff: QUICK } }),
    await mill.enqueue(ping, undefined, { retry: { failures: 1, backoff: QUICK } }),
  ].map(({ id }) => id)
  const worker = mill.worker({ failures: 2 }).handle(ping, () => {
    throw new Error('never works')
  })
  await worker.start()
  await until(async () => (await places(t.sql, t.schema)).finished === 2)
  expect(await mill.jobs.get(ids[0] ?? '')).toMatchObject({ state: 'dead', failures: 2, run: 2 })
  expect(await mill.jobs.get(ids[1] ?? '')).toMatchObject({ state: 'dead', failures: 1, run: 1 })
  expect(() => mill.worker({ failures: 0 })).toThrow('"failures" got 0')
})
