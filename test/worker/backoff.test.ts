import { expect, test } from 'vitest'
import { retryDelay } from '../../src/core/backoff.ts'
import { defineJob, RetryIn, typed } from '../../src/index.ts'
import type { Backoff, JobKind } from '../../src/index.ts'
import { decodePolicy } from '../../src/jobs/policy.ts'
import { collect } from '../support/collect.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

/** Runs the job until it is dead; answers how long each retry was put off, in milliseconds. */
async function delaysOf(
  bench: ManualSetup,
  kind: JobKind,
  handler: () => never,
): Promise<readonly number[]> {
  const { mill, clock } = bench
  const worker = mill.worker().handle(kind, handler)
  const { id } = await mill.enqueue(kind)
  await worker.start()
  await until(async () => {
    const job = await mill.jobs.get(id)
    // A little more each time: a worker that looked a moment too early pauses before it looks again.
    if (job?.state === 'pending') clock.advance(Math.max(10, job.dueAt.getTime() - clock.now()))
    return job?.state === 'dead'
  })
  const journal = await collect(mill.jobs.journal(id))
  return journal.flatMap((entry) =>
    entry.outcome === 'retried' ? [entry.dueAt.getTime() - entry.at.getTime()] : [],
  )
}

test.each<[Backoff, readonly number[]]>([
  [{ type: 'fixed', base: '3s', jitter: 0 }, [3_000, 3_000, 3_000, 3_000, 3_000]],
  [{ type: 'linear', base: '3s', jitter: 0 }, [3_000, 6_000, 9_000, 12_000, 15_000]],
  [
    { type: 'exponential', base: '1s', factor: 3, cap: '20s', jitter: 0 },
    [1_000, 3_000, 9_000, 20_000, 20_000],
  ],
  [{ type: 'fibonacci', base: '1s', jitter: 0 }, [0, 0, 1_000, 2_000, 4_000]],
])('§5: retries of %j wait that long', async (backoff, expected) => {
  await using bench = await manualSetup()
  const kind = defineJob('fails', { input: typed<undefined>(), retry: { failures: 6, backoff } })
  const delays = await delaysOf(bench, kind, () => {
    throw new Error('no')
  })
  expect(delays).toEqual(expected)
})

test('§5: with jitter each delay is the one its job and number of failures give, in whole milliseconds', async () => {
  await using bench = await manualSetup()
  const kind = defineJob('fails', { input: typed<undefined>(), retry: { failures: 5 } })
  const delays = await delaysOf(bench, kind, () => {
    throw new Error('no')
  })
  const { rows } = await bench.sql.query<{ id: string; options: string }>(
    'select id, options::text from jobs',
  )
  const { backoff } = decodePolicy(rows[0]?.options ?? null)
  const id = rows[0]?.id ?? ''
  expect(delays).toEqual(
    [1, 2, 3, 4].map((failures) => Math.floor(retryDelay(backoff, id, failures))),
  )
})

test('§5: a job is not run before it is due again, by not so much as a millisecond', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  const kind = defineJob('fails', {
    retry: { failures: 3, backoff: { type: 'fixed', base: '5s', jitter: 0 } },
  })
  let runs = 0
  const worker = mill.worker().handle(kind, () => {
    runs += 1
    throw new Error('no')
  })
  using statements = watchStatements(bench.schema)
  const { id } = await mill.enqueue(kind)
  await worker.start()
  for (const failures of [1, 2]) {
    await until(async () => (await mill.jobs.get(id))?.failures === failures)
    clock.advance(4_999)
    await statements.quiet()
    expect(runs).toBe(failures)
    clock.advance(1)
  }
  await until(async () => (await mill.jobs.get(id))?.state === 'dead')
  expect(runs).toBe(3)
  expect(clock.now()).toBe(NOON + 10_000)
})

test('replay 23: a handler that asks for more for ever ends at the limit', async () => {
  await using bench = await manualSetup()
  const kind = defineJob('fails', { input: typed<undefined>(), retry: { failures: 4 } })
  const delays = await delaysOf(bench, kind, () => {
    throw new RetryIn('10m')
  })
  expect(delays).toEqual([600_000, 600_000, 600_000])
})

test('E3: what was stamped decides, not what the kind says today', async () => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  const then = defineJob('fails', {
    retry: { failures: 5, backoff: { type: 'fixed', base: '9s', jitter: 0 } },
  })
  const today = defineJob('fails', { retry: { failures: 1 } })
  const worker = mill.worker().handle(today, () => {
    throw new Error('no')
  })
  const { id } = await mill.enqueue(then)
  await worker.start()
  await until(async () => (await sql.query('select from journal')).rows.length === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', dueAt: new Date(NOON + 9_000) })
})
