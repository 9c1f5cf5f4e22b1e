import { describe, expect, test } from 'vitest'
import { CancelledError, defineJob, GiveUp, LeaseLostError, typed } from '../../src/index.ts'
import type { Run } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { assertOnePlace, assertRunsRecordedOnce, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { claimByHand } from '../support/moves.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const asked = { by: 'ada', why: 'it is not needed' }

/** A job whose run has begun; what the handler does then is the test's. */
async function runningJob(bench: Setup, handle: (run: Run) => unknown): Promise<string> {
  let hasBegun = false
  const worker = bench.mill.worker().handle(visit, async (_input, run) => {
    hasBegun = true
    await handle(run)
  })
  const { id } = await bench.mill.enqueue(visit, 'x')
  await worker.start()
  await until(() => hasBegun)
  return id
}

/** Resolves when the signal aborts, with its reason. */
function aborted({ signal }: Run): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}

async function assertSound({ sql, schema }: Setup): Promise<void> {
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
}

describe('a pending job', () => {
  test('X1: ends at once, with who asked and why, and never runs', async () => {
    await using bench = await setup()
    const { mill } = bench
    const { id } = await mill.enqueue(visit, 'x', { keep: { cancelled: '1h' } })

    expect(await mill.jobs.cancel(id, asked)).toEqual({ matched: 1, applied: 1 })

    const job = await mill.jobs.get(id)
    if (job?.state !== 'cancelled') throw new Error(`it is ${job?.state}`)
    expect(job).toMatchObject({ ...asked, run: 0, startedAt: null, worker: null })
    expect(Number(job.keptUntil) - Number(job.finishedAt)).toBe(3_600_000)
    expect(await collect(mill.jobs.journal(id))).toMatchObject([{ outcome: 'cancelled', ...asked }])
    await assertSound(bench)
  })

  test('X1, H4: its record is kept as was stamped: for ever, a minute, or a week', async () => {
    await using bench = await setup()
    const { mill } = bench
    const keeps = [{ cancelled: 'forever' }, { cancelled: 0 }, undefined] as const
    const kept: (number | null)[] = []
    for (const keep of keeps) {
      const { id } = await mill.enqueue(visit, 'x', { keep })
      await mill.jobs.cancel(id)
      const job = await mill.jobs.get(id)
      if (job?.state !== 'cancelled') throw new Error(`it is ${job?.state}`)
      kept.push(job.keptUntil === null ? null : Number(job.keptUntil) - Number(job.finishedAt))
    }
    expect(kept).toEqual([null, 60_000, 7 * 86_400_000])
  })

  test('X1: cancelled again, or already ended, or never heard of: nothing is applied', async () => {
    await using bench = await setup()
    const { mill } = bench
    const { id } = await mill.enqueue(visit, 'x')
    await mill.jobs.cancel(id, asked)
    const unknown = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

    const again = await mill.jobs.cancel([id, unknown, id], { by: 'bob' })

    expect(again).toEqual({ matched: 1, applied: 0 })
    expect(await mill.jobs.get(id)).toMatchObject(asked)
  })
})

describe('a running job', () => {
  test('X1: its signal aborts with CancelledError, and what it throws then ends it cancelled', async () => {
    await using bench = await setup()
    const { mill } = bench
    let reason: unknown
    const id = await runningJob(bench, async (run) => {
      run.note('half way')
      reason = await aborted(run)
      throw new Error('stopped')
    })

    expect(await mill.jobs.cancel(id, asked)).toEqual({ matched: 1, applied: 1 })

    expect(await mill.jobs.wait(id)).toMatchObject({
      state: 'cancelled',
      note: 'half way',
      ...asked,
    })
    expect(reason).toBeInstanceOf(CancelledError)
    expect(reason).toMatchObject({ code: 'CANCELLED', id, by: 'ada' })
    await assertSound(bench)
  })

  test('X1: until it ends it is running with a request; the first who asked is recorded', async () => {
    await using bench = await setup()
    const { mill, sql } = bench
    const { id } = await mill.enqueue(visit, 'x')
    await claimByHand(sql, id)

    await mill.jobs.cancel(id, asked)
    const { rows } = await sql.query('select cancel_requested_at from leases')
    expect(await mill.jobs.cancel(id, { by: 'bob' })).toEqual({ matched: 1, applied: 1 })

    expect(await mill.jobs.get(id)).toMatchObject({
      state: 'running',
      cancelRequestedAt: rows[0].cancel_requested_at,
    })
    const { rows: leases } = await sql.query('select cancel_by, cancel_why from leases')
    expect(leases).toEqual([{ cancel_by: 'ada', cancel_why: asked.why }])
  })

  test('X1: a run that returns all the same is completed', async () => {
    await using bench = await setup()
    const id = await runningJob(bench, aborted)
    await bench.mill.jobs.cancel(id, asked)
    expect(await bench.mill.jobs.wait(id)).toMatchObject({ state: 'completed' })
    await assertSound(bench)
  })

  test.each<readonly [what: string, end: (run: Run) => unknown]>([
    ['pauses', (run) => run.pause({ for: '1h' })],
    ['fails', () => Promise.reject(new Error('no'))],
    ['gives up', () => Promise.reject(new GiveUp('no'))],
    ['rethrows the reason', (run) => run.signal.throwIfAborted()],
  ])('X1, race 10: a run that %s after the cancel was asked ends cancelled', async (_what, end) => {
    await using bench = await setup()
    const { mill } = bench
    let hasBegun = false
    const worker = mill.worker().handle(visit, async (_input, run) => {
      hasBegun = true
      await aborted(run)
      await end(run)
    })
    const { id } = await mill.enqueue(visit, 'x')
    await worker.start()
    await until(() => hasBegun)

    await mill.jobs.cancel(id, asked)

    expect(await mill.jobs.wait(id)).toMatchObject({ state: 'cancelled', run: 1, ...asked })
    await assertSound(bench)
  })

  test('X1: a run that its worker releases at shutdown ends cancelled, not back in line', async () => {
    await using bench = await setup()
    const { mill, sql, schema } = bench
    let hasBegun = false
    const worker = mill.worker().handle(visit, async () => {
      hasBegun = true
      await new Promise(() => {})
    })
    const { id } = await mill.enqueue(visit, 'x')
    await worker.start()
    await until(() => hasBegun)
    await mill.jobs.cancel(id, asked)
    await worker.stop({ grace: 0 })
    expect(await mill.jobs.get(id)).toMatchObject({ state: 'cancelled', ...asked })
    expect(await places(sql, schema)).toMatchObject({ ready: 0, leases: 0, finished: 1 })
  })

  test('X1, L3: one whose worker went away is recovered as cancelled', async () => {
    await using bench = await setup()
    const { mill, sql } = bench
    const { id } = await mill.enqueue(visit, 'x')
    await claimByHand(sql, id)
    await mill.jobs.cancel(id, asked)
    await sql.query(`update leases set lease_ends_at = now() - interval '1 minute'`)
    const worker = mill.worker().handle(visit, () => undefined)
    await worker.start()
    expect(await mill.jobs.wait(id)).toMatchObject({ state: 'cancelled', failures: 0, ...asked })
    await assertSound(bench)
  })
})

describe('force', () => {
  test('X1: ends a running job at once; the run is told that its lease is lost, and is void', async () => {
    await using bench = await setup()
    const { mill } = bench
    let reason: unknown
    const id = await runningJob(bench, async (run) => {
      reason = await aborted(run)
    })

    expect(await mill.jobs.cancel(id, { ...asked, force: true })).toEqual({
      matched: 1,
      applied: 1,
    })

    const ended = await mill.jobs.get(id)
    expect(ended).toMatchObject({ state: 'cancelled', run: 1, ...asked })
    await until(() => reason)
    expect(reason).toBeInstanceOf(LeaseLostError)
    await mill.close()
    expect((await bench.sql.query('select state, recovered_by from finished')).rows).toEqual([
      { state: 'cancelled', recovered_by: 'forced' },
    ])
    await assertSound(bench)
  })

  test('D1: an ask that waited for the run of its key is due once that is forced to end', async () => {
    await using bench = await setup()
    const { mill, sql } = bench
    const keyed = defineJob('keyed', { dedup: { key: 'k', scope: 'live', rerun: true } })
    const { id } = await mill.enqueue(keyed)
    await claimByHand(sql, id)
    const again = await mill.enqueue(keyed)

    await mill.jobs.cancel(id, { force: true })

    expect(await mill.jobs.get(again.id)).toMatchObject({ state: 'pending', waiting: 'due' })
  })
})
