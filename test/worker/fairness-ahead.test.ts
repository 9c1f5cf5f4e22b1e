import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })

const JOBS = 20_000
const EARLY = 2_000
// Levels are looked at each second: what is left takes longer than that on any machine.
const RUN_MS = 2

test('C3: a lower level has its turn also where queues have caps and share what is claimed ahead', async () => {
  await using bench = await setup()
  const { mill } = bench
  await mill.enqueueMany(
    visit,
    Array.from({ length: JOBS }, () => 0),
    { queue: 'long', priority: 0 },
  )
  let started = 0
  let lowCameAs = 0
  const worker = mill
    .worker({ queues: { long: 5_000, short: 5_000 } })
    .handle(visit, async (level) => {
      started += 1
      if (level === 9) lowCameAs = started
      if (started === EARLY) await mill.enqueue(visit, 9, { queue: 'long', priority: 9 })
      if (started > EARLY && lowCameAs === 0) await sleep(RUN_MS)
    })
  await worker.start()
  await until(() => started === JOBS + 1, { ms: 60_000 })
  await worker.stop()
  expect(lowCameAs).toBeLessThan(JOBS)
}, 90_000)
