import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { defineJob, typed } from '../../src/index.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, manualSetup, NOON } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', {
  input: typed<string>(),
  lease: '30s',
  retry: { backoff: { type: 'fixed', base: '1h' } },
})

test('race 4: an ask of the same key that is not committed delays no settlement, no batch and no renewal', async () => {
  await using bench = await manualSetup()
  const { mill, sql, clock, schema } = bench
  using failing = gate()
  using staying = gate()
  const worker = mill.worker().handle(visit, async (name) => {
    if (name === 'stays') return staying.enter(name)
    await failing.enter(name)
    if (name === 'keyed') throw new Error('again')
  })
  const keyed = await mill.enqueue(visit, 'keyed')
  await sql.query(`update ready set dedup_key = 'K'`)
  await mill.enqueueMany(visit, ['other', 'stays'])
  await worker.start()
  await until(() => failing.now === 2 && staying.now === 1)

  // An application's transaction asks the key again, and stays open.
  const application = await bench.session()
  const twin = makeId(NOON)
  await application.query('begin')
  await application.query(
    `insert into jobs (id, kind, queue, payload, priority, created_at, dedup_key)
     values ($1, 'visit', 'default', '"twin"', 5, now(), 'K')`,
    [twin],
  )
  await application.query(
    `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority, dedup_key)
     values ($1, 'default', 'visit', now() + interval '1 hour', 60000, 0, 0, 5, 'K')`,
    [twin],
  )
  failing.open()
  await until(async () => (await mill.jobs.get(keyed.id))?.state === 'pending')
  const finished = await sql.query('select from finished')
  expect(finished.rows).toHaveLength(1)
  clock.advance(10_000)
  await until(async () => {
    const { rows } = await sql.query<{ ends: number }>(
      'select (extract(epoch from lease_ends_at) * 1000)::float8 as ends from leases',
    )
    return rows[0]?.ends === NOON + 40_000
  })

  await application.query('commit')
  const { rows } = await sql.query('select job_id, sibling from ready order by sibling')
  expect(rows).toEqual([
    { job_id: twin, sibling: '' },
    { job_id: keyed.id, sibling: keyed.id },
  ])
  await assertOnePlace(sql, schema)
})
