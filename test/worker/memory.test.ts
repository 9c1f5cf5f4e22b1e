import { defineJob, GiveUp, typed } from 'millrace'
import { expect, test } from 'vitest'
import type { Mill } from '../../src/mill.ts'
import { liveHeap } from '../support/heap.ts'
import { setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const WARM_UP = 4_000
const JOBS = 20_000

const noop = defineJob('noop', { input: typed<{ number: number }>() })

test('a worker keeps nothing of the jobs it ran: its heap after 24 000 is what it was after 4 000', async () => {
  await using place = await setup()
  let runs = 0
  const worker = place.mill.worker({ concurrency: 100 }).handle(noop, ({ number }, run) => {
    runs += 1
    // A signal is made only for handlers that look at it.
    if (run.signal.aborted || number % 20 === 0) throw new GiveUp('some end badly')
  })
  await worker.start()

  const drained = async (jobs: number): Promise<void> => {
    const goal = runs + jobs
    await enqueueInPieces(place.mill, jobs)
    await until(() => runs === goal, { ms: 120_000 })
    await until(async () => {
      const { rows } = await place.sql.query('select from leases limit 1')
      return rows.length === 0
    })
  }
  await drained(WARM_UP)
  const early = liveHeap()
  await drained(JOBS)
  // Not 10 bytes when it was written; an id that is kept takes 50, a run a kilobyte and more. The last
  // batch may be written and its answer still on its way.
  await expect.poll(() => (liveHeap() - early) / JOBS, { timeout: 10_000 }).toBeLessThan(30)
  await worker.stop()
})

/** So that the answers of one call are soon gone. */
async function enqueueInPieces(mill: Mill, jobs: number): Promise<void> {
  for (let first = 0; first < jobs; first += 1_000) {
    const numbers = Array.from({ length: 1_000 }, (_, index) => ({ number: first + index }))
    await mill.enqueueMany(noop, numbers)
  }
}
