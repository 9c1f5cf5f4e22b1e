import { expect, test } from 'vitest'
import type { Schema } from '../../src/core/schema.ts'
import { namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { claimJobs } from '../../src/worker/claim-statements.ts'
import { untilBlocked } from '../support/blocked.ts'
import { manualSetup, setup } from '../support/mill.ts'
import { failedOnce, replaced } from '../support/sums.ts'
import type { Sum } from '../support/sums.ts'
import { until } from '../support/until.ts'

test('D4: a job that is claimed while its merge is decided goes its way; the ask becomes a fresh job', async () => {
  await using t = await manualSetup()
  await failedOnce(t)
  let decide: (() => void) | undefined
  let parses = 0
  const decided = new Promise<void>((resolve) => {
    decide = resolve
  })
  const slowly: Schema<Sum, Sum> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate() {
        parses += 1
        // After the parse of the ask and of the existing job comes that of the merged input.
        if (parses === 3) await decided
        return { value: { n: 0 } }
      },
    },
  }
  const slow = defineJob('sum', {
    input: slowly,
    carry: { runs: 0 },
    dedup: 'k',
    merge: (existing, incoming) => ({
      input: { n: existing.input.n + incoming.input.n },
      carry: existing.carry,
    }),
  })
  const asked = t.mill.enqueue(slow, { n: 2 })
  await until(() => parses === 3)
  const runs: unknown[] = []
  t.clock.advance(3_600_000)
  await using worker = t.mill.worker().handle(replaced, ({ n }, run) => {
    runs.push([n, run.carry])
  })
  await worker.start()
  await until(() => runs.length === 1)
  decide?.()
  expect(await asked).toMatchObject({ outcome: 'inserted' })
  await until(() => runs.length === 2)
  expect(runs).toEqual([
    [1, { runs: 1 }],
    [2, { runs: 0 }],
  ])
})

test('races 3, M4: a claim with an older snapshot does not run the input that was replaced', async () => {
  await using t = await setup()
  const place = namespace(t.schema)
  const gate = await t.session()
  const claiming = await t.session()
  const probe = { turn: 0, queue: 'default', level: 5, lane: 0, kinds: ['sum'], most: 5 }
  const more = { mark_due: '-infinity', mark_id: '', lane_most: 5, queue_most: 5 }
  const params = {
    probes: JSON.stringify([{ ...probe, ...more }]),
    most: 5,
    worker: 'w',
    now: '2100-01-01T00:00:00Z',
  }
  const { text, values } = bind(claimJobs, params, place)
  // The claim, its snapshot taken, waits at a gate before it looks for rows.
  const gated = text
    .replace('with', 'with gate as materialized (select pg_advisory_lock(7) as shut),')
    .replace('from p\n', 'from (select p.* from gate, p) p\n')
  expect(gated.length).toBeGreaterThan(text.length + 60)

  async function claimAround(work: () => Promise<unknown>): Promise<unknown[]> {
    await gate.query('select pg_advisory_lock(7)')
    const claimed = claiming.query<{ payload: string }>(gated, [...values])
    await untilBlocked(t.sql)
    await work()
    await gate.query('select pg_advisory_unlock(7)')
    const { rows } = await claimed
    await claiming.query('select pg_advisory_unlock_all()')
    return rows.map(({ payload }) => payload)
  }

  await t.mill.enqueue(replaced, { n: 1 })
  const outcomes: unknown[] = []
  const first = await claimAround(async () => {
    outcomes.push((await t.mill.enqueue(replaced, { n: 2 })).outcome)
  })
  expect({ outcomes, first }).toEqual({ outcomes: ['replaced'], first: [] })
  expect(await claimAround(() => Promise.resolve())).toEqual(['{"n":2}'])
})

test('replays 19: what replaces a job that runs and then fails is a job of its own', async () => {
  await using t = await manualSetup()
  const retry = { failures: 5, backoff: { type: 'fixed', base: '1m', jitter: 0 } } as const
  const old = await t.mill.enqueue(replaced, { n: 1 }, { retry })
  let fail: (() => void) | undefined
  const failing = new Promise<void>((resolve) => {
    fail = resolve
  })
  const runs: number[] = []
  await using worker = t.mill.worker().handle(replaced, async ({ n }, run) => {
    runs.push(n)
    if (run.number > 1 || n > 1) return
    await failing
    throw new Error('no')
  })
  await worker.start()
  await until(() => runs.length === 1)
  expect(await t.mill.enqueue(replaced, { n: 2 })).toMatchObject({ outcome: 'inserted' })
  fail?.()
  await until(() => runs.length === 2)
  await until(async () => (await t.mill.jobs.get(old.id))?.state === 'pending')
  t.clock.advance(60_000)
  await until(() => runs.length === 3)
  expect(runs).toEqual([1, 2, 1])
  const outcomes: string[] = []
  await until(async () => (await t.mill.jobs.get(old.id))?.state === 'completed')
  for await (const { outcome } of t.mill.jobs.journal(old.id)) outcomes.push(outcome)
  expect(outcomes).toEqual(['retried', 'completed'])
})
