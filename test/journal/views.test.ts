import { afterAll, beforeAll, expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { GiveUp } from '../../src/worker/verdict.ts'
import type { JobRecord } from '../../src/jobs/job.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { gate } from '../support/gate.ts'
import { assertOnePlace, assertRunsRecordedOnce, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

// Jobs in every state that a worker brings about, made by a worker.
const backoff = { type: 'fixed', base: 1, jitter: 0 } as const
const work = defineJob('work', {
  input: typed<{ act: 'return' | 'throw' | 'give up' | 'stay' | 'wait'; times: number }>(),
  result: typed<{ run: number }>(),
  retry: { failures: 3, backoff },
})

let t: Setup
const held = gate()
const jobs: JobRecord[] = []

beforeAll(async () => {
  t = await setup()
  await t.mill
    .worker({ concurrency: 20 })
    .handle(work, async ({ act, times }, run) => {
      if (act === 'stay') await held.enter('stay')
      if (act === 'give up') throw new GiveUp('no use')
      if (act === 'throw' && run.number <= times) throw new Error(`failure ${run.number}`)
      return { run: run.number }
    })
    .start()
  await t.mill.enqueueMany(
    work,
    (['return', 'throw', 'give up', 'stay', 'wait'] as const).flatMap((act) =>
      [1, 2, 3, 4].map((times) => ({ act, times })),
    ),
    ({ act, times }) => ({
      delay: act === 'wait' ? '1h' : 0,
      queue: 'default',
      priority: times === 4 ? 'high' : 'low',
    }),
  )
  await until(async () => {
    const { rows } = await t.sql.query('select from finished')
    return rows.length === 12
  })
  await until(async () => (await t.sql.query('select from leases')).rows.length === 4)
  for await (const job of t.mill.jobs.list({}, { order: 'oldest' })) jobs.push(job)
})
afterAll(async () => {
  held.open()
  await t.close()
})

interface JobView {
  readonly id: string
  readonly state: string
  readonly kind: string
  readonly queue: string
  readonly priority: number
  readonly run: number
  readonly failures: number
  readonly payload: string
  readonly created_at: Date
  readonly due_at: Date | null
  readonly worker: string | null
  readonly started_at: Date | null
  readonly finished_at: Date | null
  readonly result: unknown
  readonly last_error: { readonly message: string } | null
  readonly detail: string | null
}

async function allJobs(): Promise<readonly JobView[]> {
  const { rows } = await t.sql.query<JobView>('select * from all_jobs order by id')
  return rows
}

test('the jobs stand in all the states', async () => {
  const states = new Set(jobs.map(({ state }) => state))
  expect(states).toEqual(new Set(['pending', 'running', 'completed', 'dead']))
  expect(jobs).toHaveLength(20)
  await assertOnePlace(t.sql, t.schema)
  await assertRunsRecordedOnce(t.sql, t.schema)
})

test('all_jobs has one row for each job, and says of it what jobs.get says', async () => {
  const rows = await allJobs()
  expect(rows.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id))
  for (const [index, row] of rows.entries()) {
    const job = await t.mill.jobs.get(row.id)
    expect(job).toEqual(jobs[index])
    expect(row).toMatchObject({
      state: job?.state,
      kind: job?.kind,
      queue: job?.queue,
      priority: job?.priority,
      run: job?.run,
      failures: job?.failures,
      payload: job?.input,
      created_at: job?.createdAt,
      due_at: job !== null && 'dueAt' in job ? job.dueAt : row.due_at,
      worker: job !== null && 'worker' in job ? job.worker : null,
      started_at: job !== null && 'startedAt' in job ? job.startedAt : null,
      finished_at: job !== null && 'finishedAt' in job ? job.finishedAt : null,
    })
  }
})

test('all_jobs shows the result of a completed job and the last error of any', async () => {
  const told = (await allJobs()).map(({ result, last_error: error }) => [result, error?.message])
  expect(told).toEqual(
    jobs.map((job) => {
      const lasting = job.failures > 0 ? `failure ${job.failures}` : undefined
      if (job.state === 'completed') return [job.result, lasting]
      return [null, job.state === 'dead' ? job.error?.message : lasting]
    }),
  )
})

test('timeline has what jobs.journal has, in its order', async () => {
  const { rows } = await t.sql.query<{ job_id: string; outcome: string; run: number }>(
    'select job_id, outcome, run from timeline order by job_id, entry',
  )
  const entries: { job_id: string; outcome: string; run: number }[] = []
  for (const { id } of jobs) {
    for await (const entry of t.mill.jobs.journal(id)) {
      entries.push({ job_id: id, outcome: entry.outcome, run: 'run' in entry ? entry.run : 0 })
    }
  }
  expect(rows).toEqual(entries)
  expect(rows.length).toBeGreaterThan(12)
})

test('errors has one row for each failure, of jobs that live and of jobs that ended', async () => {
  const { rows } = await t.sql.query<{ job_id: string; failures: string }>(
    'select job_id, count(*) as failures from errors group by job_id order by job_id',
  )
  const failed = jobs.filter(({ failures }) => failures > 0)
  expect(rows.map(({ job_id, failures }) => [job_id, Number(failures)])).toEqual(
    failed.map(({ id, failures }) => [id, failures]),
  )
})
