import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { InvalidOptionError } from '../../src/errors.ts'
import type { CleanupFilter } from '../../src/jobs/cleanup.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { insertFinished } from '../support/finished.ts'
import { assertOnePlace, manualSetup, NOON, places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'

const visit = defineJob('visit', { input: typed<string>() })

/** All ended at noon; moves some of them. */
async function endedAt({ sql }: Setup, id: string, at: number): Promise<void> {
  await sql.query('update finished set finished_at = $2 where job_id = $1', [id, new Date(at)])
}

async function counts({ sql }: Setup): Promise<unknown> {
  const { rows } = await sql.query(
    `select
       (select count(*)::int from finished) as finished, (select count(*)::int from jobs) as jobs,
       (select count(*)::int from journal) as journal, (select count(*)::int from carries) as carries`,
  )
  return rows[0]
}

test('H4: records that ended strictly before the bound go, with body, journal and carry', async () => {
  await using t = await manualSetup()
  const { mill, sql } = t
  const before = await insertFinished(sql, { pruneAt: null })
  const exactly = await insertFinished(sql)
  await endedAt(t, before, NOON - 1)
  await sql.query(`insert into carries (job_id, carry) values ($1, '1'), ($2, '2')`, [
    before,
    exactly,
  ])
  await mill.enqueue(visit, 'alive')

  const done = await mill.jobs.cleanup({ finishedBefore: new Date(NOON) })

  expect(done).toEqual({ matched: 1, applied: 1 })
  expect(await mill.jobs.get(before)).toBeNull()
  expect(await counts(t)).toEqual({ finished: 1, jobs: 2, journal: 1, carries: 1 })
  await assertOnePlace(sql, t.schema)
})

test('H4: a duration means longer ago than that; state and kind narrow it; a dry run counts', async () => {
  await using t = await manualSetup()
  const { mill, sql } = t
  await insertFinished(sql, { state: 'completed', kind: 'visit' })
  await insertFinished(sql, { state: 'dead', kind: 'visit' })
  await insertFinished(sql, { state: 'dead', kind: 'other' })
  t.clock.advance(60_000)

  const none = await mill.jobs.cleanup({ finishedBefore: '1m' })
  t.clock.advance(1)
  const dry = await mill.jobs.cleanup({ finishedBefore: '1m' }, { dryRun: true })
  const dead = await mill.jobs.cleanup({ finishedBefore: '1m', state: 'dead', kind: visit })
  const named = await mill.jobs.cleanup({ finishedBefore: 0, kind: 'other' })

  expect([none, dry, dead, named]).toEqual([
    { matched: 0, applied: 0 },
    { matched: 3, applied: 0 },
    { matched: 1, applied: 1 },
    { matched: 1, applied: 1 },
  ])
  expect(await places(sql, t.schema)).toMatchObject({ finished: 1 })
})

test('H4: many go in batches with progress, the first made first, and a signal stops between two', async () => {
  await using t = await manualSetup()
  const { mill, sql } = t
  await sql.query(
    `insert into finished (job_id, state, kind, queue, finished_at, run, failures)
     select '01' || lpad(i::text, 24, '0'), 'completed', case when i % 2 = 0 then 'even' else 'odd' end,
       'q', timestamptz '2025-01-01' + (i / 700) * interval '1 second', 1, 0
     from generate_series(1, 2500) i`,
  )
  const finishedBefore = new Date(NOON)
  const stop = new AbortController()
  const stopped = mill.jobs.cleanup(
    { finishedBefore },
    { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) },
  )
  await expect(stopped).rejects.toThrow('enough')
  const { rows } = await sql.query('select min(job_id) as first from finished')
  expect(rows).toEqual([{ first: `01${String(1001).padStart(24, '0')}` }])

  const progress: number[] = []
  const onProgress = (done: number): void => void progress.push(done)
  const odd = await mill.jobs.cleanup({ finishedBefore, kind: 'odd' }, { onProgress })
  expect(odd).toEqual({ matched: 750, applied: 750 })
  expect(progress).toEqual([500, 750])
  const dry = await mill.jobs.cleanup({ finishedBefore }, { dryRun: true })
  expect(dry).toEqual({ matched: 750, applied: 0 })
  expect(await mill.jobs.cleanup({ finishedBefore })).toEqual({ matched: 750, applied: 750 })
})

test('M1: a record that somebody redrives at that moment is left, with its body', async () => {
  await using t = await setup()
  const { mill, sql } = t
  const id = await insertFinished(sql)
  const other = await t.session()
  await other.query('begin')
  await other.query('delete from finished where job_id = $1', [id])
  expect(await mill.jobs.cleanup({ finishedBefore: 0 })).toEqual({ matched: 0, applied: 0 })
  await other.query('rollback')
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'dead' })
  expect(await mill.jobs.cleanup({ finishedBefore: 0 })).toEqual({ matched: 1, applied: 1 })
})

const MISSPELT = { before: 1 }

test.each<readonly [why: string, filter: CleanupFilter]>([
  ['cannot be negative', { finishedBefore: -1 }],
  ['holds no instant', { finishedBefore: new Date(Number.NaN) }],
  ['no such option', { finishedBefore: '1d', ...MISSPELT }],
])('H4: what cannot be is refused before anything is done: %s', async (why, filter) => {
  await using t = await manualSetup()
  const cleaned = t.mill.jobs.cleanup(filter)
  await expect(cleaned).rejects.toThrow(InvalidOptionError)
  await expect(cleaned).rejects.toThrow(why)
})
