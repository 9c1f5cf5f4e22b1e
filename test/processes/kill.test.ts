import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { isRecovered, violationsOf } from '../torture/check.ts'
import { faultsOf } from '../torture/history/faults.ts'
import { processes } from '../torture/processes.ts'

const JOBS = 20_000
// A tenth of the asks is rolled back.
const ASKS = 23_000
// Short, so that the test need not wait long for the killed worker's jobs.
const LEASE_MS = 3_000
// A lease is taken a second after it lapsed; the rest is for a slow machine.
const TAKEN_WITHIN = LEASE_MS + 1_000 + 4_000

test('L3, replays 6: of 20 000 jobs none is lost or runs twice when a worker is killed, but for those it held', async () => {
  await using database = await freshDatabase()
  const all = await processes(database.url, { concurrency: 50 })
  try {
    const production = { seed: 1, first: 0, jobs: ASKS, perSecond: null, leaseMs: LEASE_MS }
    const producer = await all.startProducer({ ...production, tasks: 'plain' })
    const doomed = await all.startWorker()
    const survivor = await all.startWorker()
    const isInTheMiddle = () => isAtWork(database.url, doomed.name)
    await until(isInTheMiddle, { ms: 60_000, every: 20 })
    await all.killWorker(doomed)
    await producer.ended
    await all.untilDrained(60_000)
    const evidence = await all.evidence()

    expect(violationsOf(evidence)).toEqual([])
    expect(faultsOf(evidence.facts)).toEqual([])
    const { jobs, records, interruptions } = evidence
    expect(jobs.length).toBeGreaterThanOrEqual(JOBS)
    expect(records.filter(({ outcome }) => outcome === 'completed')).toHaveLength(jobs.length)
    expect(records.filter(({ worker }) => worker === survivor.name).length).toBeGreaterThan(0)

    const taken = records.filter(isRecovered)
    expect(taken.length).toBeGreaterThan(0)
    expect(taken.every(({ worker }) => worker === doomed.name)).toBe(true)
    expect(taken.every(({ recoveredBy }) => recoveredBy === survivor.name)).toBe(true)
    const killedAt = interruptions.find(({ what }) => what === 'kill')?.from ?? Number.NaN
    expect(Math.max(...taken.map(({ at }) => at)) - killedAt).toBeLessThan(TAKEN_WITHIN)
    const runAgain = records.filter(({ run }) => run > 1).map(({ job }) => job)
    expect(runAgain.toSorted()).toEqual(taken.map(({ job }) => job).toSorted())
  } finally {
    await all.close()
  }
}, 180_000)

/** A good part of the jobs is done, and this worker has its hands full. */
async function isAtWork(url: string, worker: string): Promise<boolean> {
  const [row] = await runSql(
    url,
    `select
       (select count(*)::int from millrace.finished) as finished,
       (select count(*)::int from millrace.leases where worker = $1) as held`,
    [worker],
  )
  return Number(row?.['finished']) > JOBS / 3 && Number(row?.['held']) > 10
}
