import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { typed } from '../../src/core/schema.ts'
import { parseHint } from '../../src/database/hint.ts'
import { namespace } from '../../src/database/namespace.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { GiveUp } from '../../src/worker/verdict.ts'
import { collect } from '../support/collect.ts'
import { insertFinished } from '../support/finished.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  manualSetup,
  NOON,
  places,
  setup,
} from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { until } from '../support/until.ts'

test('X2: a dead job goes back into line with the same id, its failures forgotten and its runs going on', async () => {
  await using t = await setup()
  const kind = defineJob('second-try', { input: typed<{ n: number }>(), retry: { failures: 1 } })
  const worker = t.mill.worker().handle(kind, (_input, run) => {
    if (run.number === 1) throw new GiveUp('no use')
  })
  await worker.start()
  const { id } = await t.mill.enqueue(kind, { n: 1 })
  await until(async () => (await t.mill.jobs.get(id))?.state === 'dead')
  expect(await t.mill.jobs.retry(id, { by: 'ada' })).toEqual({ matched: 1, applied: 1 })
  await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
  await worker.stop()

  const journal = await collect(t.mill.jobs.journal(id))
  expect(journal).toMatchObject([
    { outcome: 'dead', run: 1, reason: 'gave-up', error: { message: 'no use' } },
    { outcome: 'redriven', by: 'ada', note: null },
    { outcome: 'completed', run: 2 },
  ])
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'completed', run: 2, failures: 0 })
  await assertOnePlace(t.sql, t.schema)
  await assertRunsRecordedOnce(t.sql, t.schema)
})

test.each(['dead', 'cancelled'] as const)(
  'X2: a %s job is due now with its stamps, without expiry, and its ending is kept whole',
  async (state) => {
    await using t = await manualSetup()
    const options = { leaseMs: 7_000, failures: 3 }
    const id = await insertFinished(t.sql, { state, run: 4, failures: 3, priority: 2, options })
    t.clock.advance(5_000)
    expect(await t.mill.jobs.retry([id])).toEqual({ matched: 1, applied: 1 })

    expect(await t.mill.jobs.get(id)).toMatchObject({
      state: 'pending',
      waiting: 'due',
      dueAt: new Date(NOON + 5_000),
      expiresAt: null,
      queue: 'ended',
      priority: 2,
      run: 4,
      failures: 0,
      failureLimit: 3,
      createdAt: new Date(NOON),
    })
    const { rows } = await t.sql.query('select reason, lease_ms::int as lease, sibling from ready')
    expect(rows).toEqual([{ reason: 'redrive', lease: 7_000, sibling: '' }])
    const ended = await t.sql.query(
      `select at, run, failures, worker, started_at, reason, decided_by, why, note, attachment, error from journal
       where job_id = $1 and outcome = $2`,
      [id, state],
    )
    expect(ended.rows).toEqual([
      {
        at: new Date(NOON),
        run: 4,
        failures: 3,
        worker: 'w',
        started_at: new Date(NOON),
        reason: state === 'dead' ? 'failed' : null,
        decided_by: 'ada',
        why: 'because',
        note: 'noted',
        attachment: { a: 1 },
        error: state === 'dead' ? { name: 'Error', message: 'last' } : null,
      },
    ])
    const journal = await collect(t.mill.jobs.journal(id))
    expect(journal.map(({ outcome }) => outcome)).toEqual(['retried', state, 'redriven'])
    expect(journal.at(-1)).toMatchObject({
      by: null,
      at: new Date(NOON + 5_000),
      dueAt: new Date(NOON + 5_000),
    })
  },
)

test('X2, D5: a job with a key stands beside the twin that waits', async () => {
  await using t = await manualSetup()
  const id = await insertFinished(t.sql, { dedupKey: 'k' })
  await t.sql.query(
    `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority, dedup_key)
     values ($1, 'ended', 'ended', $2, 1, 0, 0, 5, 'k')`,
    [makeId(NOON), new Date(NOON)],
  )
  expect(await t.mill.jobs.retry(id)).toEqual({ matched: 1, applied: 1 })
  const { rows } = await t.sql.query('select sibling from ready where job_id = $1', [id])
  expect(rows).toEqual([{ sibling: id }])
})

test('X2: what waits, runs or completed is matched and left alone; what has no record is neither', async () => {
  await using t = await manualSetup()
  const kind = defineJob('plain', { input: typed<{ n: number }>() })
  const waiting = (await t.mill.enqueue(kind, { n: 1 })).id
  const completed = await insertFinished(t.sql, { state: 'completed' })
  const changed = await t.mill.jobs.retry([waiting, completed, makeId(NOON)])
  expect(changed).toEqual({ matched: 2, applied: 0 })
  expect(await t.mill.jobs.get(completed)).toMatchObject({ state: 'completed' })
  expect(await t.mill.jobs.get(waiting)).toMatchObject({ state: 'pending', waiting: 'due' })
})

test('X2: many ids go in chunks, an id twice counts once', async () => {
  await using t = await manualSetup()
  const ids: string[] = []
  for (let n = 0; n < 1_100; n += 1) ids.push(makeId(NOON))
  await t.sql.query(
    `insert into jobs (id, kind, queue, payload, priority, created_at)
     select id, 'k', 'q', '1', 5, $2 from unnest($1::text[]) id`,
    [ids, new Date(NOON)],
  )
  await t.sql.query(
    `insert into finished (job_id, state, reason, kind, queue, finished_at, run, failures)
     select id, 'dead', 'failed', 'k', 'q', $2, 1, 1 from unnest($1::text[]) id`,
    [ids, new Date(NOON)],
  )
  using statements = watchStatements(t.schema)
  const changed = await t.mill.jobs.retry([...ids, ...ids.slice(0, 10)])
  expect(changed).toEqual({ matched: 1_100, applied: 1_100 })
  expect(statements.count('redrive_jobs')).toBe(3)
  expect(await places(t.sql, t.schema)).toEqual({
    jobs: 1_100,
    ready: 1_100,
    leases: 0,
    finished: 0,
  })
})

test('X2: the jobs are announced, each queue once', async () => {
  await using t = await manualSetup()
  const ids = [await insertFinished(t.sql), await insertFinished(t.sql)]
  const heard: string[] = []
  const listener = await t.session()
  listener.on('notification', ({ payload = '' }) => heard.push(payload))
  await listener.query(`listen ${namespace(t.schema).channel}`)
  await t.mill.jobs.retry(ids)
  await t.sql.query(`select pg_notify($1, 'the end')`, [namespace(t.schema).channel])
  await until(() => heard.at(-1) === 'the end')
  expect(heard.slice(0, -1).map(parseHint)).toEqual([{ type: 'due', queue: 'ended', dueAt: NOON }])
})

test('X2: two who redrive one job at once move it once', async () => {
  await using t = await manualSetup()
  await using other = await manualSetup({ schema: t.schema })
  const ids = []
  for (let n = 0; n < 40; n += 1) ids.push(await insertFinished(t.sql))
  const changes = await Promise.all([
    t.mill.jobs.retry(ids),
    other.mill.jobs.retry(ids.toReversed()),
  ])
  expect(changes.map(({ applied }) => applied).reduce((sum, each) => sum + each)).toBe(40)
  const { rows } = await t.sql.query<{ outcome: string; n: number }>(
    'select outcome, count(*)::int as n from journal group by outcome order by outcome',
  )
  expect(rows).toEqual([
    { outcome: 'dead', n: 40 },
    { outcome: 'redriven', n: 40 },
    { outcome: 'retried', n: 40 },
  ])
  await assertOnePlace(t.sql, t.schema)
})

test('X2: who asked is kept as far as text can be: U+0000 becomes U+FFFD', async () => {
  await using t = await manualSetup()
  const id = await insertFinished(t.sql)
  await t.mill.jobs.retry(id, { by: 'a\u0000b' })
  expect((await collect(t.mill.jobs.journal(id))).at(-1)).toMatchObject({ by: 'a\ufffdb' })
})

test('X2: an id that is none, an option that is none, and an aborted signal are refused', async () => {
  await using t = await manualSetup()
  await expect(t.mill.jobs.retry('nonsense')).rejects.toMatchObject({ option: 'id' })
  // @ts-expect-error there is no such option
  await expect(t.mill.jobs.retry([], { who: 'ada' })).rejects.toMatchObject({ option: 'who' })
  const id = await insertFinished(t.sql)
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(t.mill.jobs.retry(id, { signal })).rejects.toThrow('enough')
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'dead' })
})
