import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { typed } from '../../src/core/schema.ts'
import type { JournalEntry, ListOptions } from '../../src/jobs/job.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { manualSetup, NOON, setup } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

test('H2: every run is an entry with its times, worker, note, attachment and error, the end last', async () => {
  await using t = await setup()
  const kind = defineJob('moody', {
    input: typed<{ n: number }>(),
    retry: { failures: 5, backoff: { type: 'fixed', base: 1, jitter: 0 } },
  })
  const worker = t.mill.worker().handle(kind, (_input, run) => {
    run.note(`run ${run.number}`)
    run.attach({ run: run.number })
    if (run.number < 3) throw Object.assign(new RangeError('not yet'), { code: 'E_MOOD' })
  })
  await worker.start()
  const { id } = await t.mill.enqueue(kind, { n: 1 })
  const job = await until(async () => {
    const found = await t.mill.jobs.get(id)
    return found?.state === 'completed' ? found : undefined
  })
  await worker.stop()

  const { items, next } = await t.mill.jobs.journal(id).page()
  expect(next).toBeNull()
  const run = { jobId: id, worker: worker.id, at: expect.any(Date), startedAt: expect.any(Date) }
  const error = { name: 'RangeError', message: 'not yet', code: 'E_MOOD', truncated: false }
  const failed = { ...run, outcome: 'retried', dueAt: expect.any(Date), error }
  expect(items).toMatchObject([
    { ...failed, run: 1, failures: 1, note: 'run 1', attachment: { run: 1 } },
    { ...failed, run: 2, failures: 2, note: 'run 2', attachment: { run: 2 } },
    { ...run, outcome: 'completed', run: 3, note: 'run 3', attachment: { run: 3 } },
  ])
  expect(items.at(-1)).toMatchObject({ at: job.finishedAt, startedAt: job.startedAt })
  for (const entry of items) {
    if (!('durationMs' in entry)) throw new Error('an entry of a run has no duration')
    expect(entry.durationMs).toBe(entry.at.getTime() - entry.startedAt.getTime())
  }
  const newest = await t.mill.jobs.journal(id, { order: 'newest' }).page()
  expect(newest.items).toEqual(items.toReversed())
})

describe('H2: a journal of 250 entries and an end', () => {
  let t: ManualSetup
  const id = makeId(NOON)
  beforeAll(async () => {
    t = await manualSetup()
    await t.sql.query(
      `insert into journal (job_id, at, run, failures, outcome, worker, started_at, due_at, error)
       select $1::text, $2::timestamptz, n, n, 'retried', 'w', $2::timestamptz, $2::timestamptz, '{"name":"Error","message":"no"}'
       from generate_series(1, 250) n`,
      [id, new Date(NOON)],
    )
    await t.sql.query(
      `insert into finished (job_id, state, kind, queue, finished_at, started_at, run, failures, worker)
       values ($1, 'completed', 'k', 'q', $2, $2, 251, 250, 'w')`,
      [id, new Date(NOON)],
    )
    // Entries of other jobs lie between and around.
    await t.sql.query(
      `insert into journal (job_id, at, run, failures, outcome) select $1, $2, 1, 1, 'paused' from generate_series(1, 20)`,
      [makeId(NOON), new Date(NOON)],
    )
  })
  afterAll(() => t.close())

  const wanted = Array.from({ length: 251 }, (_, index) => index + 1)

  test('is iterated whole, in either order', async () => {
    expect(await runs({})).toEqual(wanted)
    expect(await runs({ order: 'newest' })).toEqual(wanted.toReversed())
  })

  test.each([1, 50, 250, 251, 252])(
    'is read in pages of %d without gap or repeat',
    async (limit) => {
      expect(await paged({ limit })).toEqual(wanted)
      expect(await paged({ limit, order: 'newest' })).toEqual(wanted.toReversed())
    },
  )

  test('is cut off at a limit', async () => {
    expect(await runs({ limit: 3, order: 'newest' })).toEqual([251, 250, 249])
    expect(await runs({ limit: 0 })).toEqual([])
  })

  async function runs(options: ListOptions): Promise<number[]> {
    const found: number[] = []
    for await (const entry of t.mill.jobs.journal(id, options)) found.push(runOf(entry))
    return found
  }

  async function paged(options: ListOptions): Promise<number[]> {
    const found: number[] = []
    let cursor: ListOptions['cursor']
    do {
      const page = await t.mill.jobs.journal(id, { ...options, cursor }).page()
      found.push(...page.items.map(runOf))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return found
  }
})

test('H2: entries of every outcome are read as what they are', async () => {
  await using t = await manualSetup()
  const id = makeId(NOON)
  const outcomes = [
    ['completed', {}],
    ['released', {}],
    ['paused', {}],
    ['retried', { error: '{"name":"E","message":"m"}' }],
    ['stale-recovered', { recovered_by: 'w2' }],
    ['dead', { reason: 'gave-up', error: '{"name":"E","message":"m"}' }],
    ['cancelled', { decided_by: 'ada', why: 'no need' }],
    ['merged', { decision: 'replace', asked_id: makeId(NOON) }],
    ['redriven', { decided_by: 'ada' }],
    ['rescheduled', {}],
  ] as const
  for (const [outcome, columns] of outcomes) {
    const row = {
      job_id: id,
      at: new Date(NOON + 5),
      started_at: new Date(NOON),
      due_at: new Date(NOON),
    }
    const all = { ...row, run: 1, failures: 1, worker: 'w', outcome, ...columns }
    const names = Object.keys(all)
    const places = names.map((_name, index) => `$${index + 1}`)
    await t.sql.query(
      `insert into journal (${names.join(', ')}) values (${places.join(', ')})`,
      Object.values(all),
    )
  }
  const { items } = await t.mill.jobs.journal(id).page()
  expect(items.map(({ outcome }) => outcome)).toEqual(outcomes.map(([outcome]) => outcome))
  expect(items).toMatchObject([
    { durationMs: 5, worker: 'w' },
    { durationMs: 5 },
    { dueAt: new Date(NOON) },
    { error: { name: 'E', message: 'm' }, failures: 1 },
    { recoveredBy: 'w2' },
    { reason: 'gave-up', error: { message: 'm' } },
    { by: 'ada', why: 'no need' },
    { decision: 'replace' },
    { by: 'ada', dueAt: new Date(NOON) },
    { by: null },
  ])
})

test('H2: a job without a record has an empty journal, as has text that is no id', async () => {
  await using t = await manualSetup()
  for (const id of [makeId(NOON), 'nonsense', '\u0000']) {
    expect(await t.mill.jobs.journal(id).page()).toEqual({ items: [], next: null })
  }
})

test.each([
  'garbage',
  '',
  Buffer.from('-1').toString('base64url'),
  Buffer.from('9'.repeat(30)).toString('base64url'),
])('H2: the cursor %j is refused', async (cursor) => {
  await using t = await manualSetup()
  expect(() => t.mill.jobs.journal(makeId(NOON), { cursor })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', option: 'cursor' }),
  )
})

function runOf(entry: JournalEntry): number {
  return 'run' in entry ? entry.run : 0
}
