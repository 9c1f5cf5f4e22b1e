import assert from 'node:assert/strict'
import { shortly } from './shortly.ts'
import { jobsLive } from './life-of-jobs.ts'
import { keysLive } from './life-of-keys.ts'
import { locksLive } from './life-of-locks.ts'
import { outboxLives } from './life-of-an-outbox.ts'
import { schedulesLive } from './life-of-schedules.ts'
import { streamsLive } from './life-of-streams.ts'
import type { Place } from './place.ts'

/**
 * Everything that Millrace does, once, in a place: what holds on a server with default settings must
 * hold wherever Millrace says that it works. Throws what is not as it should be. It knows nothing of
 * a test runner, so that it also runs on the built package, in any version of Node.
 */
export async function live(place: Place): Promise<void> {
  const mill = await place.open()
  try {
    const lives = [jobsLive, keysLive, schedulesLive, outboxLives, streamsLive, locksLive]
    // All end before the client is closed, also where one fails.
    const ends = await Promise.allSettled(lives.map((each) => each(mill, place)))
    const faults = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join('\n'))
  } finally {
    await mill.close()
  }
  await assertSound(place)
}

/** The invariants of the layout, read from the tables. */
async function assertSound({ look, table }: Place): Promise<void> {
  if (look === null) return
  const strays = await look(
    `with place as (
       select job_id from ${table('ready')}
       union all select job_id from ${table('leases')}
       union all select job_id from ${table('finished')}
     )
     select coalesce(j.id, p.job_id) as job, count(p.job_id)::int as places
     from ${table('jobs')} j
     full join place p on p.job_id = j.id
     group by 1
     having count(p.job_id) <> 1 or count(j.id) = 0`,
  )
  assert.deepEqual(strays, [], 'jobs that are not in one place')
  await shortly('the leases are gone', async () => {
    assert.deepEqual(await look(`select job_id from ${table('leases')}`), [])
  })
}
