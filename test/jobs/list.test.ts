import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { instantText } from '../../src/core/instant-text.ts'
import { typed } from '../../src/core/schema.ts'
import { namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { filterParams } from '../../src/jobs/filter.ts'
import { listJobsNewest } from '../../src/jobs/inspect-statements.ts'
import type { JobFilter, JobRecord, JobState, ListOptions } from '../../src/jobs/job.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { seed } from '../support/seed.ts'
import { watchStatements } from '../support/statements.ts'

const greet = defineJob('greet', { input: typed<{ n: number }>() })
const other = defineJob('other', { input: typed<{ n: number }>() })

async function ids(
  t: ManualSetup,
  filter: JobFilter = {},
  options: ListOptions = {},
): Promise<string[]> {
  const found: string[] = []
  for await (const { id } of t.mill.jobs.list(filter, options)) found.push(id)
  return found
}

const at = (n: number) => new Date(NOON + n * 1_000)

/** Page by page, as a browser would. */
async function paged(t: ManualSetup, filter: JobFilter, options: ListOptions): Promise<string[]> {
  const found: string[] = []
  let cursor: ListOptions['cursor']
  do {
    const page = await t.mill.jobs.list(filter, { ...options, cursor }).page()
    found.push(...page.items.map(({ id }) => id))
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return found
}

describe('H1: 500 jobs of one millisecond', () => {
  let t: ManualSetup
  let all: readonly string[]
  beforeAll(async () => {
    t = await manualSetup()
    const inputs = Array.from({ length: 500 }, (_, n) => ({ n }))
    const results = await t.mill.enqueueMany(greet, inputs)
    all = results.map(({ id }) => id)
  })
  afterAll(() => t.close())

  test('have ids of one millisecond', () => {
    expect(new Set(all.map((id) => id.slice(0, 10))).size).toBe(1)
  })

  test.each([7, 100, 250, 499, 500, 501])(
    'in pages of %d there is no gap and no repeat, in either order',
    async (limit) => {
      expect(await paged(t, {}, { limit, order: 'oldest' })).toEqual(all)
      expect(await paged(t, {}, { limit, order: 'newest' })).toEqual(all.toReversed())
      expect(await paged(t, { kind: greet }, { limit })).toEqual(all.toReversed())
    },
  )

  test('newest first and all of them, when nothing is asked for', async () => {
    expect(await ids(t)).toEqual(all.toReversed())
    const page = await t.mill.jobs.list().page()
    expect(page.items).toHaveLength(100)
  })

  test('a limit ends the iteration, 0 and less give nothing and read nothing', async () => {
    using statements = watchStatements(t.schema)
    expect(await ids(t, {}, { limit: 0 })).toEqual([])
    expect(await ids(t, {}, { limit: -1 })).toEqual([])
    expect(await t.mill.jobs.list({}, { limit: -5 }).page()).toEqual({ items: [], next: null })
    expect(statements.names).toEqual([])
    expect(await ids(t, {}, { limit: 120, order: 'oldest' })).toEqual(all.slice(0, 120))
  })

  test('nothing is read before it is asked for', async () => {
    using statements = watchStatements(t.schema)
    t.mill.jobs.list()
    expect(statements.names).toEqual([])
  })

  test('jobs that come and go meanwhile neither repeat nor hide the others', async () => {
    const first = await t.mill.jobs.list({}, { limit: 200 }).page()
    await t.mill.enqueue(other, { n: 0 })
    const removed = all[100] ?? ''
    await t.sql.query('delete from ready where job_id = $1', [removed])
    await t.sql.query('delete from jobs where id = $1', [removed])
    const rest = await ids(t, {}, { cursor: first.next ?? undefined })
    const seen = [...first.items.map(({ id }) => id), ...rest]
    expect(seen).toEqual(all.toReversed().filter((id) => id !== removed))
  })
})

test.each([
  [{ cursor: 'garbage' }, 'cursor'],
  [{ cursor: '' }, 'cursor'],
  [{ cursor: Buffer.from("01' or true --").toString('base64url') }, 'cursor'],
  [{ limit: 1.5 }, 'limit'],
  [{ limit: Number.NaN }, 'limit'],
  [{ limit: 10_001 }, 'limit'],
  [{ order: 'random' }, 'order'],
  [{ page: 2 }, 'page'],
])('H1: list options %j are refused by name', async (options, option) => {
  await using t = await manualSetup()
  // @ts-expect-error wrong by type, or by value
  expect(() => t.mill.jobs.list({}, options)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', option }),
  )
})

test.each([
  [{ state: 'done' }, 'state'],
  [{ createdAfter: 5 }, 'createdAfter'],
  [{ text: 'a\u0000b' }, 'text'],
  [{ kinds: 'greet' }, 'kinds'],
])('H1: the filter %j is refused by name', async (filter, option) => {
  await using t = await manualSetup()
  // @ts-expect-error wrong by type, or by value
  expect(() => t.mill.jobs.list(filter)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', option }),
  )
})

describe('H1: a filter', () => {
  let t: ManualSetup
  const made: JobRecord[] = []
  beforeAll(async () => {
    t = await manualSetup()
    for (let n = 0; n < 40; n += 1) {
      const kind = n % 2 === 0 ? greet : other
      const { id } = await t.mill.enqueue(kind, { n }, { queue: n % 3 === 0 ? 'third' : 'default' })
      if (n % 4 !== 0) await end(t, id, n)
      t.clock.advance(1_000)
    }
    await t.sql.query(
      `update jobs set dedup_key = 'key ' || (payload ->> 'n')::int / 10, schedule = 'nightly', boundary = created_at`,
    )
    for await (const job of t.mill.jobs.list({}, { order: 'oldest' })) made.push(job)
  })
  afterAll(() => t.close())

  test.each<[string, JobFilter, (job: JobRecord, n: number) => boolean]>([
    ['by kind', { kind: greet }, (job) => job.kind === 'greet'],
    ['by names of kinds', { kind: ['other', 'missing'] }, (job) => job.kind === 'other'],
    ['by queue', { queue: 'third' }, (job) => job.queue === 'third'],
    ['by queues', { queue: ['third', 'default'] }, () => true],
    ['by state', { state: 'pending' }, (job) => job.state === 'pending'],
    ['by an end', { state: 'dead' }, (job) => job.state === 'dead'],
    [
      'by states',
      { state: ['running', 'cancelled'] },
      (job) => /running|cancelled/.test(job.state),
    ],
    ['by no state', { state: [] }, () => false],
    ['created after', { createdAfter: at(20) }, (_job, n) => n > 20],
    ['created before', { createdBefore: at(20) }, (_job, n) => n < 20],
    ['finished after', { finishedAfter: at(20) }, (job, n) => 'finishedAt' in job && n > 20],
    ['finished before', { finishedBefore: at(20) }, (job, n) => 'finishedAt' in job && n < 20],
    ['by key', { dedupKey: 'key 2' }, (_job, n) => n >= 20 && n < 30],
    ['by schedule', { schedule: 'nightly' }, () => true],
    ['by another schedule', { schedule: 'hourly' }, () => false],
    ['by text', { text: '"n":7}' }, (_job, n) => n === 7],
    ['by text with wildcards', { text: '%' }, () => false],
    [
      'by several',
      { kind: greet, state: 'completed', queue: 'third' },
      (job, n) => n % 2 === 0 && job.state === 'completed' && n % 3 === 0,
    ],
  ])(
    '%s gives exactly what matches, in either order and in small pages',
    async (_what, filter, matches) => {
      expect(made).toHaveLength(40)
      const wanted = made.filter(matches).map(({ id }) => id)
      expect(await ids(t, filter, { order: 'oldest' })).toEqual(wanted)
      expect(await ids(t, filter)).toEqual(wanted.toReversed())
      expect(await paged(t, filter, { limit: 3, order: 'oldest' })).toEqual(wanted)
      expect(await paged(t, filter, { limit: 1 })).toEqual(wanted.toReversed())
    },
  )
})

/** Ends or starts a job by hand, in one of the ways there are. */
async function end({ sql, clock }: ManualSetup, id: string, n: number): Promise<void> {
  const states: readonly JobState[] = ['completed', 'dead', 'cancelled', 'running']
  const state = states[Math.floor(n / 4) % 4] ?? 'completed'
  const now = new Date(clock.now())
  await sql.query(`delete from ready where job_id = $1`, [id])
  if (state === 'running') {
    await sql.query(
      `insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority)
       select id, 'w', queue, kind, $2, $2, $2, 60000, 1, 0, priority from jobs where id = $1`,
      [id, now],
    )
    return
  }
  await sql.query(
    `insert into finished (job_id, state, reason, kind, queue, finished_at, run, failures)
     select id, $2::text, case when $2::text = 'dead' then 'failed' end, kind, queue, $3, 1, 0 from jobs where id = $1`,
    [id, state, now],
  )
}

test('H1: a filter that matches little over many rows finds it, in bounded steps', async () => {
  await using t = await manualSetup()
  await seed(t.sql, { ready: 20_000, leases: 100, finished: 20_000 })
  const rare = makeId(1)
  await t.mill.enqueue(other, { n: 1 }, { id: rare, queue: 'rare' })
  using statements = watchStatements(t.schema)
  expect(await ids(t, { queue: 'rare' })).toEqual([rare])
  const steps = statements.names.length
  expect(steps).toBeGreaterThan(10)
  expect(steps).toBeLessThan(50)
  expect(await ids(t, { queue: 'rare' }, { order: 'oldest', limit: 1 })).toEqual([rare])
  const dead = await ids(t, { state: 'dead' })
  expect(dead).toHaveLength(200)
})

test('H1: a statement that looks at many jobs gives no more records than are wanted', async () => {
  await using t = await manualSetup()
  await seed(t.sql, { ready: 3_000, leases: 1, finished: 1 })
  const { params } = filterParams({ kind: 'greet' })
  const page = { after: '', before: '8', bound: 2_000, most: 11, now: instantText(NOON) }
  const query = bind(listJobsNewest, { ...params, ...page }, namespace(t.schema))
  const { rowCount } = await t.sql.query(query.text, [...query.values])
  expect(rowCount).toBe(11)
})

test('H1: a listing stops between pages when its signal aborts', async () => {
  await using t = await manualSetup()
  await seed(t.sql, { ready: 500, leases: 0, finished: 0 })
  const controller = new AbortController()
  let seen = 0
  const walk = async (): Promise<void> => {
    for await (const { state } of t.mill.jobs.list({}, { signal: controller.signal })) {
      if (state === 'pending') seen += 1
      if (seen === 150) controller.abort(new Error('enough'))
    }
  }
  await expect(walk()).rejects.toThrow('enough')
  expect(seen).toBe(200)
})

test('H1: get gives a job with its places, or null for what there is no record of', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(greet, { n: 1 })
  expect(await t.mill.jobs.get(id)).toEqual({
    id,
    kind: 'greet',
    queue: 'default',
    priority: 5,
    dedupKey: null,
    input: { n: 1 },
    carry: null,
    run: 0,
    failures: 0,
    failureLimit: 10,
    createdAt: new Date(NOON),
    schedule: null,
    state: 'pending',
    waiting: 'due',
    dueAt: new Date(NOON),
    expiresAt: null,
  })
  expect(await t.mill.jobs.get(greet, id)).toMatchObject({ id })
  expect(await t.mill.jobs.get(other, id)).toBeNull()
  expect(await t.mill.jobs.get(makeId(NOON))).toBeNull()
  expect(await t.mill.jobs.get('nonsense \u0000')).toBeNull()
})
