import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })
const JOBS = 20_000

test('replays 24: 20 000 jobs that waited before the worker started are drained at full speed at once', async () => {
  await using t = await setup()
  const { mill } = t
  const numbers = Array.from({ length: JOBS }, (_, number) => number)
  let done = 0
  const worker = mill.worker({ concurrency: 100 }).handle(visit, () => {
    done += 1
  })

  async function drain(begin: () => Promise<void>): Promise<number> {
    const [began, target] = [performance.now(), done + JOBS]
    await begin()
    await until(() => done === target, { ms: 120_000 })
    return performance.now() - began
  }

  await mill.enqueueMany(visit, numbers)
  const cold = await drain(() => worker.start())
  await mill.queues.pause('default')
  await mill.enqueueMany(visit, numbers)
  const warm = await drain(() => mill.queues.resume('default'))

  // The first one connects, and its code is not yet compiled.
  expect(cold).toBeLessThan(2 * warm)
  await worker.stop()
  expect(await places(t.sql, t.schema)).toMatchObject({ ready: 0, leases: 0, finished: 2 * JOBS })
  await assertOnePlace(t.sql, t.schema)
}, 300_000)
