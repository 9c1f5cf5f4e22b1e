import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, GiveUp, typed } from 'millrace'
import type { Mill, Worker } from 'millrace'
import { collect } from '../support/collect.ts'
import { ended } from './ended.ts'
import { shortly } from './shortly.ts'
import type { Place } from './place.ts'

const TEXT = 'Grüße, 世界 👋 \\ \' " \u0000 \\u0000'

const echo = defineJob('echo', {
  input: typed<{ text: string; n: number }>(),
  result: typed<{ text: string }>(),
})
const flaky = defineJob('flaky', {
  retry: { failures: 3, backoff: { type: 'fixed', base: 1, jitter: 0 } },
})
const pager = defineJob('pager', { carry: { page: 0 } })
const doomed = defineJob('doomed')
const long = defineJob('long', { lease: '3s' })
const booked = defineJob('booked', { input: typed<string>() })
const endless = defineJob('endless')
const merged = defineJob('merged', { input: typed<number>(), dedup: 'one' })
const byHand = defineJob('by hand', { result: typed<number>() })
const calm = defineJob('calm', { queue: 'calm' })

/** Enqueue, claim, renewal, retry, pause, checkpoint, transaction, cancel, merge, handles, queues, reports. */
export async function jobsLive(mill: Mill, place: Place): Promise<void> {
  const numbers: number[] = []
  const worker = workerOf(mill, numbers)
  await mill.queues.pause('calm')
  await worker.start()
  try {
    await Promise.all([
      echoes(mill),
      retried(mill),
      paged(mill),
      killed(mill),
      renewed(mill),
      inOneTransaction(mill),
      cancelled(mill),
      mergedInto(mill, numbers),
      handled(mill),
      resumed(mill),
      inYourTransaction(mill, place),
    ])
    await reported(mill)
  } finally {
    await worker.stop()
  }
}

function workerOf(mill: Mill, numbers: number[]): Worker {
  return mill
    .worker({ concurrency: 20 })
    .handle(echo, ({ text }) => ({ text }))
    .handle(flaky, (_input, run) => {
      run.note(TEXT)
      if (run.number === 1) throw new Error(TEXT)
    })
    .handle(pager, async (_input, run) => {
      run.carry.page += 1
      await run.checkpoint()
      return run.carry.page < 3 ? run.pause({ for: 1 }) : undefined
    })
    .handle(doomed, () => {
      throw new GiveUp('there is no use')
    })
    .handle(long, () => pause(3_300))
    .handle(booked, (text, run) =>
      run.transaction(async (tx) => {
        await tx.query('select $1::text as text', [text])
        await tx.enqueue(echo, { text, n: -1 })
      }),
    )
    .handle(endless, (_input, run) => pause(60_000, undefined, { signal: run.signal }))
    .handle(merged, (n) => void numbers.push(n))
    .handle(calm, () => undefined)
}

async function echoes(mill: Mill): Promise<void> {
  const one = await mill.enqueue(echo, { text: TEXT, n: 0 })
  const many = await mill.enqueueMany(
    echo,
    [1, 2, 3].map((n) => ({ text: TEXT, n })),
  )
  const later = await mill.enqueue(echo, { text: 'later', n: 4 }, { delay: 300 })
  for (const { id } of [one, ...many]) {
    const end = await ended(mill, echo, id)
    assert.equal(end.state, 'completed')
    assert.deepEqual(end.state === 'completed' && end.result, { text: TEXT })
    assert.equal(end.input.text, TEXT)
  }
  const last = await ended(mill, echo, later.id)
  assert.ok((last.startedAt?.getTime() ?? 0) - last.createdAt.getTime() >= 300)
  const again = await mill.enqueue(echo, { text: 'x', n: 5 }, { id: one.id })
  assert.equal(again.outcome, 'kept')
}

async function retried(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(flaky)
  const end = await ended(mill, flaky, id)
  assert.deepEqual([end.state, end.run, end.failures], ['completed', 2, 1])
  const entries = await collect(mill.jobs.journal(id))
  assert.deepEqual(
    entries.map(({ outcome }) => outcome),
    ['retried', 'completed'],
  )
  const [first] = entries
  assert.ok(first?.outcome === 'retried' && first.error.message.startsWith('Grüße, 世界 👋 \\'))
  assert.ok(first.note?.includes('\ufffd'))
}

async function paged(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(pager)
  const end = await ended(mill, pager, id)
  assert.deepEqual([end.state, end.run, end.failures], ['completed', 3, 0])
}

async function killed(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(doomed)
  const first = await ended(mill, doomed, id)
  assert.ok(first.state === 'dead' && first.reason === 'gave-up')
  assert.deepEqual(await mill.jobs.retry(id, { by: 'me' }), { matched: 1, applied: 1 })
  const second = await ended(mill, doomed, id)
  assert.deepEqual([second.state, second.run], ['dead', 2])
}

/** Longer than its lease: it is renewed, and nobody else takes it. */
async function renewed(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(long)
  const end = await ended(mill, long, id)
  assert.deepEqual([end.state, end.run], ['completed', 1])
}

async function inOneTransaction(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(booked, 'booked')
  const end = await ended(mill, booked, id)
  assert.deepEqual([end.state, end.run], ['completed', 1])
  await shortly('the follow-up ran once', async () => {
    const jobs = await collect(mill.jobs.list({ kind: echo, state: 'completed' }))
    assert.equal(jobs.filter(({ input }) => input.text === 'booked').length, 1)
  })
}

async function cancelled(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(endless)
  await shortly('it runs', async () => assert.equal((await mill.jobs.get(id))?.state, 'running'))
  const changed = await mill.jobs.cancel(id, { by: 'me', why: TEXT })
  assert.deepEqual(changed, { matched: 1, applied: 1 })
  const end = await ended(mill, endless, id)
  assert.ok(end.state === 'cancelled' && end.by === 'me')
  const waiting = await mill.enqueue(endless, undefined, { delay: '1h' })
  await mill.jobs.reschedule(waiting.id, { delay: '2h', priority: 'high' })
  assert.equal((await mill.jobs.explain(waiting.id)).reasons[0]?.code, 'not-due')
  assert.equal((await mill.jobs.cancel({ kind: endless })).applied, 1)
}

async function mergedInto(mill: Mill, numbers: readonly number[]): Promise<void> {
  const first = await mill.enqueue(merged, 1, { delay: '1h' })
  const second = await mill.enqueue(merged, 2, { delay: '1h' })
  assert.deepEqual([second.id, second.outcome], [first.id, 'replaced'])
  const third = await mill.enqueue(merged, 3)
  assert.equal(third.id, first.id)
  await ended(mill, merged, first.id)
  assert.deepEqual(numbers, [3])
}

async function handled(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(byHand)
  const [handle] = await mill.claim({ kinds: [byHand], lease: '10s' })
  assert.equal(handle?.id, id)
  assert.ok(await handle?.heartbeat('20s'))
  assert.ok(await handle?.complete(7))
  const end = await mill.jobs.get(byHand, id)
  assert.equal(end?.state === 'completed' && end.result, 7)
}

async function resumed(mill: Mill): Promise<void> {
  const { id } = await mill.enqueue(calm)
  assert.equal((await mill.jobs.explain(id)).reasons[0]?.code, 'queue-paused')
  await mill.queues.resume('calm')
  assert.equal((await ended(mill, calm, id)).state, 'completed')
}

async function inYourTransaction(mill: Mill, { transaction }: Place): Promise<void> {
  if (transaction === null) return
  const ids: string[] = []
  const ask = (n: number, isDoubtful: boolean) =>
    transaction(async (tx) => {
      ids.push((await mill.in(tx).enqueue(echo, { text: 'yours', n })).id)
      if (isDoubtful) throw new Error('changed my mind')
    })
  await ask(6, false)
  await assert.rejects(ask(7, true), /changed my mind/)
  const [committed = '', rolledBack = ''] = ids
  assert.equal((await ended(mill, echo, committed)).state, 'completed')
  assert.equal(await mill.jobs.get(rolledBack), null)
}

async function reported(mill: Mill): Promise<void> {
  const page = await mill.jobs.list({ state: ['completed', 'dead'] }, { limit: 2 }).page()
  assert.equal(page.items.length, 2)
  assert.ok(page.next !== null)
  const { workers, queues } = await mill.jobs.stats()
  assert.ok(queues.length > 0 && workers.alive >= 1)
  const cleaned = await mill.jobs.cleanup({ finishedBefore: new Date(), kind: flaky })
  assert.equal(cleaned.applied, 1)
}
