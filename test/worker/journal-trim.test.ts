import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { journalTrim } from '../../src/worker/journal-trim.ts'
import { executorOn } from '../support/executor.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'

/** Entries of runs 1 to `most`, of several jobs in turn. */
async function write({ sql }: Setup, ids: readonly string[], most: number): Promise<void> {
  await sql.query(
    `insert into journal (job_id, at, started_at, run, failures, outcome)
     select id, now(), now(), run, 0, 'paused'
     from generate_series(1, $2::int) run, unnest($1::text[]) id
     order by run, id`,
    [ids, most],
  )
}

async function runsOf({ sql }: Setup): Promise<readonly unknown[]> {
  const { rows } = await sql.query(
    `select job_id, count(*)::int as entries, min(run) as first, max(run) as last
     from journal group by job_id order by job_id`,
  )
  return rows
}

test('H4: a job keeps its newest 1 000 entries, others what they have', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const [long, longer, short] = [makeId(NOON), makeId(NOON), makeId(NOON)]
  await write(t, [long], 1_300)
  await write(t, [longer, short], 900)
  await write(t, [longer], 3_000)
  const trim = journalTrim(statements.lane('maintenance'))

  const gone: number[] = []
  for (let left = 500; left === 500;) {
    left = await trim.batch(500)
    gone.push(left)
  }

  expect(gone.reduce((sum, each) => sum + each)).toBe(300 + 2_900)
  expect(gone.every((each) => each <= 500)).toBe(true)
  expect(await runsOf(t)).toEqual([
    { job_id: long, entries: 1_000, first: 301, last: 1_300 },
    { job_id: longer, entries: 1_000, first: 2_001, last: 3_000 },
    { job_id: short, entries: 900, first: 1, last: 900 },
  ])
})

test('H4: what was looked through is not looked through again, what comes after it is', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const [first, second] = [makeId(NOON), makeId(NOON)]
  const trim = journalTrim(statements.lane('maintenance'))
  await write(t, [first], 1_000)
  expect(await trim.batch(500)).toBe(0)
  await write(t, [second], 1_200)
  expect(await trim.batch(500)).toBe(200)
  expect(await trim.batch(500)).toBe(0)
})

test('H4: two workers at once trim the same entries once', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const id = makeId(NOON)
  await write(t, [id], 1_400)
  const lanes = ['one', 'two'].map((purpose) => journalTrim(statements.lane(purpose)))
  const gone = await Promise.all(lanes.map((each) => each.batch(1_000)))
  expect(gone.reduce((sum, each) => sum + each)).toBe(400)
  expect(await runsOf(t)).toMatchObject([{ entries: 1_000, first: 401 }])
})
