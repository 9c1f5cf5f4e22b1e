import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { assertOnePlace, places, setup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<number>() })
const JOBS = 20_000
const SLOTS = 100

test('replays 24: 20 000 jobs that waited before the worker started are drained at full speed at once', async () => {
  await using t = await setup()
  const { mill, schema } = t
  using statements = watchStatements(schema)
  let done = 0
  const worker = mill.worker({ concurrency: SLOTS }).handle(visit, () => {
    done += 1
  })
  await mill.enqueueMany(
    visit,
    Array.from({ length: JOBS }, (_, number) => number),
  )
  const began = performance.now()
  await worker.start()
  await until(() => done === JOBS, { ms: 120_000 })

  // Full speed: claims bring as much as there are slots for, and more, and none waits for a poll.
  expect(statements.count('claim_jobs')).toBeLessThan(JOBS / SLOTS)
  expect(performance.now() - began).toBeLessThan(UNHURRIED)
  await worker.stop()
  expect(await places(t.sql, schema)).toMatchObject({ ready: 0, leases: 0, finished: JOBS })
  await assertOnePlace(t.sql, schema)
}, 300_000)

// It takes two seconds; at one claim a poll it would take a hundred minutes.
const UNHURRIED = 60_000
